// Package orlop starts the server that is named by ORLOP_SERVER with the options of a kube-apiserver.
package orlop

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"k8s.io/apiextensions-apiserver/pkg/cmd/server/testing/orlop"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/tracing"

	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

// Process is a running server.
type Process = orlop.Process

// Active tells whether servers run outside of the process of the test.
func Active() bool { return orlop.Active() }

// CannotJudge skips a test that depends on a server inside its process.
func CannotJudge(t any, reason string) { orlop.CannotJudge(t, reason) }

// Start starts the server with every option that differs from its default. The flag sets were made before the test
// changed the options: those made later have lost values that their flags do not start from.
func Start(ctx context.Context, t orlop.Testing, directory string, s *options.ServerRunOptions, before cliflag.NamedFlagSets) (*Process, *restclient.Config, error) {
	defaults := orlop.Read(sets(options.NewServerRunOptions().Flags())...)
	flags := orlop.Flags{}
	flags.AddChanged(defaults, orlop.Read(sets(before)...))
	modes, byFile := s.Authorization.Modes, s.Authorization.AuthorizationConfigurationFile != ""
	flags.AddChanged(defaults, orlop.Read(sets(s.Flags())...))
	if !byFile {
		if len(modes) == 0 {
			modes = []string{"AlwaysAllow"}
		}
		flags.Set("authorization-mode", strings.Join(modes, ","))
	}
	flags.Set("etcd-servers", strings.Join(s.Etcd.StorageConfig.Transport.ServerList, ","))
	flags.Set("etcd-prefix", s.Etcd.StorageConfig.Prefix)
	flags.SetVersions()

	// Makes the serving certificate. A program that signs tokens is the server's alone: tests wait until it was asked.
	signer := s.ServiceAccountSigningEndpoint
	s.ServiceAccountSigningEndpoint = ""
	_, err := s.Complete(ctx)
	s.ServiceAccountSigningEndpoint = signer
	if err != nil {
		return nil, nil, fmt.Errorf("cannot complete the options: %w", err)
	}
	if s.PeerCAFile != "" && flags["peer-advertise-ip"] == nil {
		// Other servers reach this one where it listens.
		flags.Set("peer-advertise-ip", s.GenericServerRunOptions.AdvertiseAddress.String())
	}
	certificate := s.SecureServing.ServerCert.CertKey
	flags.Set("tls-cert-file", certificate.CertFile)
	flags.Set("tls-private-key-file", certificate.KeyFile)

	port := s.SecureServing.BindPort
	if listener := s.SecureServing.Listener; listener != nil {
		port = listener.Addr().(*net.TCPAddr).Port
		if err := listener.Close(); err != nil {
			return nil, nil, err
		}
	}
	process, err := orlop.Start(t, directory, port, flags)
	if err != nil {
		return nil, nil, err
	}
	config, err := process.ClientConfig(certificate.CertFile)
	if err != nil {
		process.Stop()
		return nil, nil, err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	if s.Traces != nil && s.Traces.ConfigFile != "" {
		// Passes the trace of a test on to the server.
		config.Wrap(tracing.WrapperFor(tracing.NewNoopTracerProvider()))
	}
	return process, config, nil
}

// WaitForHealth waits until the server is healthy, unless that is not wanted, and has the namespaces.
func WaitForHealth(process *Process, client kubernetes.Interface, healthz bool, namespaces ...string) error {
	last := ""
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		select {
		case <-process.Exited():
			return false, process.Err()
		default:
		}
		if healthz {
			status := 0
			result := client.Discovery().RESTClient().Get().AbsPath("/healthz").Do(ctx).StatusCode(&status)
			if status != 200 {
				body, err := result.Raw()
				last = fmt.Sprintf("/healthz: %d %s %v", status, body, err)
				return false, nil
			}
		}
		for _, name := range namespaces {
			if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); err != nil {
				last = err.Error()
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("the server is not ready: %w (%s)", err, last)
	}
	return nil
}

func sets(named cliflag.NamedFlagSets) []*pflag.FlagSet {
	var sets []*pflag.FlagSet
	for _, set := range named.FlagSets {
		sets = append(sets, set)
	}
	return sets
}
