package framework

import (
	"context"
	"os"
	"testing"

	client "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"

	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/testing/orlop"
)

// orlopFlags returns the flag sets of options that the test is about to change; nil if the server runs inside its process.
func orlopFlags(t testing.TB, setup TestServerSetup, s *options.ServerRunOptions) *cliflag.NamedFlagSets {
	if !orlop.Active() {
		return nil
	}
	if setup.ModifyServerConfig != nil {
		orlop.CannotJudge(t, "ModifyServerConfig")
	}
	flags := s.Flags()
	return &flags
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
