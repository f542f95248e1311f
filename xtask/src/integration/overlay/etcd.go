package etcd

import (
	"context"
	"os"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	apiextensionsclientset "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	cacheddiscovery "k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	cliflag "k8s.io/component-base/cli/flag"

	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/testing/orlop"
)

// orlopFlags returns the flag sets of options that the test is about to change; nil if the server runs inside its process.
func orlopFlags(s *options.ServerRunOptions) *cliflag.NamedFlagSets {
	if !orlop.Active() {
		return nil
	}
	flags := s.Flags()
	return &flags
}

// orlopStart does what StartRealAPIServerOrDie does from the point on where the options are known.
func orlopStart(ctx context.Context, t *testing.T, directory string, s *options.ServerRunOptions, flags *cliflag.NamedFlagSets, etcd *clientv3.Client, kv clientv3.KV) *APIServer {
	process, config, err := orlop.Start(ctx, t, directory, s, *flags)
	if err != nil {
		t.Fatal(err)
	}
	cleanup := func() {
		process.Stop()
		etcd.Close()
		os.RemoveAll(directory)
	}
	config.QPS = 99999
	config.Burst = 9999
	// Every resource is used, deprecated ones too.
	restclient.SetDefaultWarningHandler(restclient.NoWarnings{})
	client := clientset.NewForConfigOrDie(config)
	if err := orlop.WaitForHealth(process, client, true); err != nil {
		cleanup()
		t.Fatal(err)
	}
	CreateTestCRDs(t, apiextensionsclientset.NewForConfigOrDie(config), false, GetCustomResourceDefinitionData()...)
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cacheddiscovery.NewMemCacheClient(client.Discovery()))
	mapper.Reset()
	_, resources, err := client.Discovery().ServerGroupsAndResources()
	if err != nil {
		cleanup()
		t.Fatal(err)
	}
	return &APIServer{
		Client:    client,
		Dynamic:   dynamic.NewForConfigOrDie(config),
		Config:    config,
		KV:        kv,
		Mapper:    mapper,
		Resources: GetResources(t, resources),
		Cleanup:   cleanup,
	}
}
