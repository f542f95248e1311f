package testing

import (
	"context"
	"fmt"

	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"

	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/testing/orlop"
	"k8s.io/kubernetes/test/utils/ktesting"
)

func orlopActive() bool { return orlop.Active() }

// orlopStart does what StartTestServer does from the point on where the options are known. done removes the directory.
func orlopStart(ctx context.Context, t ktesting.TB, instance *TestServerInstanceOptions, s *options.ServerRunOptions, flags cliflag.NamedFlagSets, storage *storagebackend.Config, directory string, done func()) (result TestServer, err error) {
	result.TmpDir = directory
	if instance.StorageVersionWrapFunc != nil {
		orlop.CannotJudge(t, "StorageVersionWrapFunc")
	}
	if instance.BinaryVersion != "" {
		orlop.CannotJudge(t, "BinaryVersion "+instance.BinaryVersion)
	}
	if instance.ProxyCA == nil {
		// Every test gets it, only those that bring their own authority use it.
		s.PeerCAFile = ""
	}
	process, config, err := orlop.Start(ctx, t, directory, s, flags)
	if err != nil {
		return result, err
	}
	defer func() {
		if err != nil {
			process.Stop()
		}
	}()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return result, err
	}
	if err := orlop.WaitForHealth(process, client, !instance.SkipHealthzCheck, "default"); err != nil {
		return result, err
	}
	etcd, _, err := GetEtcdClients(storage.Transport)
	if err != nil {
		return result, fmt.Errorf("create etcd client: %w", err)
	}
	result.ClientConfig = restclient.CopyConfig(config)
	result.ClientConfig.QPS = 1000
	result.ClientConfig.Burst = 10000
	result.ServerOpts = s
	result.EtcdClient = etcd
	result.EtcdStoragePrefix = storage.Prefix
	result.TearDownFn = func() {
		process.Stop()
		done()
		etcd.Close()
	}
	return result, nil
}
