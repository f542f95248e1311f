package testing

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apiextensions-apiserver/pkg/cmd/server/testing/orlop"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

func orlopActive() bool { return orlop.Active() }

// extensionServerFlags are those of extension servers, which a kube-apiserver does not have.
var extensionServerFlags = []string{
	"authentication-skip-lookup", "authentication-kubeconfig", "authorization-kubeconfig", "kubeconfig",
}

// orlopStart does what StartTestServer does from the point on where the options are known.
func orlopStart(t Logger, s *options.CustomResourceDefinitionsServerOptions, set *pflag.FlagSet, directory string) (result TestServer, err error) {
	result.TmpDir = directory
	defaults := pflag.NewFlagSet("defaults", pflag.PanicOnError)
	options.NewCustomResourceDefinitionsServerOptions(os.Stdout, os.Stderr).AddFlags(defaults)
	flags := orlop.Flags{}
	flags.AddChanged(orlop.Read(defaults), orlop.Read(set))
	for _, name := range extensionServerFlags {
		delete(flags, name)
	}
	etcd := s.RecommendedOptions.Etcd.StorageConfig
	flags.Set("etcd-prefix", etcd.Prefix)
	flags.Set("etcd-servers", strings.Join(etcd.Transport.ServerList, ","))
	flags.SetVersions()

	serving := s.RecommendedOptions.SecureServing
	if err := serving.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.ParseIP("127.0.0.1")}); err != nil {
		return result, err
	}
	certificate := serving.ServerCert.CertKey
	flags.Set("tls-cert-file", certificate.CertFile)
	flags.Set("tls-private-key-file", certificate.KeyFile)
	port := serving.Listener.Addr().(*net.TCPAddr).Port
	if err := serving.Listener.Close(); err != nil {
		return result, err
	}

	process, err := orlop.Start(t, directory, port, flags)
	if err != nil {
		return result, err
	}
	defer func() {
		if err != nil {
			process.Stop()
		}
	}()
	result.ClientConfig, err = process.ClientConfig(certificate.CertFile)
	if err != nil {
		return result, err
	}
	client, err := kubernetes.NewForConfig(result.ClientConfig)
	if err != nil {
		return result, err
	}
	err = wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		select {
		case <-process.Exited():
			return false, process.Err()
		default:
		}
		status := 0
		client.Discovery().RESTClient().Get().AbsPath("/healthz").Do(ctx).StatusCode(&status)
		return status == 200, nil
	})
	if err != nil {
		return result, fmt.Errorf("the server is not ready: %w", err)
	}
	result.ServerOpts = s
	result.TearDownFn = func() {
		process.Stop()
		os.RemoveAll(directory)
	}
	return result, nil
}

// OrlopCannotJudge skips a test that depends on a server inside its process, unless there is one.
func OrlopCannotJudge(t Logger, reason string) {
	if orlop.Active() {
		orlop.CannotJudge(t, reason)
	}
}
