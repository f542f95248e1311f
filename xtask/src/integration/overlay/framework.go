package framework

import (
	"context"
	"errors"
	"os"
	"reflect"
	"testing"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/storage"
	client "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"

	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/testing/orlop"
	"k8s.io/kubernetes/pkg/controlplane"
)

// orlopFlags returns the flag sets of options that the test is about to change; nil if the server runs inside its process.
func orlopFlags(t testing.TB, setup TestServerSetup, s *options.ServerRunOptions) *cliflag.NamedFlagSets {
	if !orlop.Active() {
		return nil
	}
	if setup.ModifyServerConfig != nil {
		enabled, err := orlopEnabled(setup.ModifyServerConfig)
		if err != nil {
			orlop.CannotJudge(t, err.Error())
		}
		for _, name := range enabled {
			s.APIEnablement.RuntimeConfig[name] = "true"
		}
	}
	flags := s.Flags()
	return &flags
}

// orlopEnabled returns what a test enables of --runtime-config in its process, and an error if it changes anything else there.
func orlopEnabled(modify func(*controlplane.Config)) (enabled []string, err error) {
	config := controlplane.Config{}
	config.ControlPlane.Generic = &server.Config{}
	unchanged := func() bool {
		generic := config.ControlPlane.Generic
		return generic != nil && reflect.ValueOf(*generic).IsZero() && reflect.ValueOf(config.Extra).IsZero()
	}
	defer func() {
		// It reads what this configuration does not have.
		if recover() != nil {
			err = errors.New("ModifyServerConfig")
		}
	}()
	modify(&config)
	source := config.ControlPlane.Extra.APIResourceConfigSource
	config.ControlPlane.Extra.APIResourceConfigSource = nil
	if !unchanged() || !reflect.ValueOf(config.ControlPlane.Extra).IsZero() {
		return nil, errors.New("ModifyServerConfig")
	}
	resources, ok := source.(*storage.ResourceConfig)
	if !ok {
		if source != nil {
			return nil, errors.New("ModifyServerConfig")
		}
		return nil, nil
	}
	defaults := controlplane.DefaultAPIResourceConfigSource()
	for version, on := range resources.GroupVersionConfigs {
		if on && !defaults.GroupVersionConfigs[version] {
			enabled = append(enabled, version.String())
		}
	}
	for resource, on := range resources.ResourceConfigs {
		if on && !defaults.ResourceConfigs[resource] {
			enabled = append(enabled, resource.GroupVersion().String()+"/"+resource.Resource)
		}
	}
	return enabled, nil
}

// orlopStart does what StartTestServer does from the point on where the options are known.
func orlopStart(ctx context.Context, cancel context.CancelFunc, t testing.TB, directory string, s *options.ServerRunOptions, flags *cliflag.NamedFlagSets) (client.Interface, *rest.Config, TearDownFunc) {
	process, config, err := orlop.Start(ctx, t, directory, s, *flags)
	if err != nil {
		t.Fatal(err)
	}
	config.CAData = nil
	config.CAFile = s.SecureServing.ServerCert.CertKey.CertFile
	stop := func() {
		cancel()
		process.Stop()
		os.RemoveAll(directory)
	}
	clients, err := client.NewForConfig(config)
	if err == nil {
		err = orlop.WaitForHealth(process, clients, true, "default", "kube-system")
	}
	if err != nil {
		stop()
		t.Fatal(err)
	}
	return clients, config, stop
}
