// Package orlop starts the server that is named by ORLOP_SERVER in the place of a server inside the process of a test.
package orlop

import (
	"bytes"
	"crypto/x509"
	"encoding/csv"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"

	restclient "k8s.io/client-go/rest"
)

const (
	// startLimit is the time in which the server has to open its port.
	startLimit = 60 * time.Second
	// stopLimit is the time after SIGTERM before SIGKILL.
	stopLimit = 30 * time.Second
)

// started counts the servers of this process, for the names of their logs.
var started atomic.Int64

// Testing is the part of testing.TB that is needed.
type Testing interface {
	Logf(format string, arguments ...any)
}

// Process is a running server.
type Process struct {
	port    int
	token   string
	log     string
	command *exec.Cmd
	// exited is closed after exit was set.
	exited chan struct{}
	exit   error
}

// Active tells whether servers run outside of the process of the test.
func Active() bool { return os.Getenv("ORLOP_SERVER") != "" }

// CannotJudge skips a test that depends on a server inside its process.
func CannotJudge(t any, reason string) {
	if test, ok := t.(interface{ Skip(arguments ...any) }); ok {
		test.Skip("orlop: cannot judge: " + reason)
	}
}

// Start starts the server, and waits until it listens on the port. The directory is the test's own.
func Start(t Testing, directory string, port int, flags Flags) (*Process, error) {
	process := &Process{port: port, token: uuid.NewString(), exited: make(chan struct{})}
	own, err := os.MkdirTemp(directory, "orlop")
	if err != nil {
		return nil, err
	}
	tokens, err := process.writeTokens(own, flags["token-auth-file"])
	if err != nil {
		return nil, err
	}
	flags.Set("token-auth-file", tokens)
	flags.Set("data-dir", filepath.Join(own, "data"))
	flags.Set("bind-address", "127.0.0.1")
	// The extension servers of tests are on this machine.
	flags.Set("allow-loopback-backends", "true")
	flags.Set("secure-port", fmt.Sprint(port))
	if err := process.run(t, own, flags.arguments()); err != nil {
		return nil, err
	}
	return process, process.waitForPort()
}

// writeTokens writes the tokens of the test's own file and that of the administrator, as whom the test calls the server.
func (p *Process) writeTokens(directory string, files []string) (string, error) {
	var text bytes.Buffer
	writer := csv.NewWriter(&text)
	if err := writer.Write([]string{p.token, "system:apiserver", uuid.NewString(), "system:masters"}); err != nil {
		return "", err
	}
	writer.Flush()
	for _, file := range files {
		if file == "" {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		text.Write(content)
	}
	path := filepath.Join(directory, "tokens.csv")
	return path, os.WriteFile(path, text.Bytes(), 0600)
}

// run starts the process, whose output is the log.
func (p *Process) run(t Testing, directory string, arguments []string) error {
	if logs := os.Getenv("ORLOP_LOGS"); logs != "" {
		directory = logs
	}
	p.log = filepath.Join(directory, fmt.Sprintf("%d-%d.log", os.Getpid(), started.Add(1)))
	log, err := os.Create(p.log)
	if err != nil {
		return err
	}
	p.command = serverCommand(arguments)
	p.command.Stdout, p.command.Stderr = log, log
	// The server ends with the test's process, whatever ends that.
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	t.Logf("orlop: started: %s (log %s)", strings.Join(arguments, " "), p.log)
	if err := p.command.Start(); err != nil {
		log.Close()
		return err
	}
	go func() {
		p.exit = p.command.Wait()
		log.Close()
		close(p.exited)
	}()
	return nil
}

// serverCommand returns the command of a server, on a host with the name that the test has set, if it has.
func serverCommand(arguments []string) *exec.Cmd {
	command := append([]string{os.Getenv("ORLOP_SERVER")}, arguments...)
	if name := os.Getenv("ORLOP_HOST_NAME"); name != "" {
		command = append([]string{"unshare", "--uts", "sh", "-c", `hostname "$0" && exec "$@"`, name}, command...)
	}
	return exec.Command(command[0], command[1:]...)
}

// waitForPort waits until the server listens. A server that ends before has refused its flags.
func (p *Process) waitForPort() error {
	deadline := time.Now().Add(startLimit)
	for {
		select {
		case <-p.exited:
			return fmt.Errorf("orlop: refused: %s", p.firstError())
		default:
		}
		connection, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", p.port), time.Second)
		if err == nil {
			return connection.Close()
		}
		if time.Now().After(deadline) {
			p.Stop()
			return fmt.Errorf("orlop: the port is not open after %s (log %s)", startLimit, p.log)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// firstError returns the line of the log that begins with "error:", or else its end.
func (p *Process) firstError() string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	for _, line := range lines {
		if text, found := strings.CutPrefix(line, "error: "); found {
			return text
		}
	}
	return lines[len(lines)-1]
}

// Exited is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err is the error of a process that has ended by itself.
func (p *Process) Err() error { return fmt.Errorf("orlop: ended: %v (log %s)", p.exit, p.log) }

// Stop ends the process.
func (p *Process) Stop() {
	select {
	case <-p.exited:
		fmt.Fprintln(os.Stderr, p.Err())
		return
	default:
	}
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(stopLimit):
		fmt.Fprintf(os.Stderr, "orlop: killed: it did not end within %s (log %s)\n", stopLimit, p.log)
		_ = p.command.Process.Kill()
		<-p.exited
	}
}

// ClientConfig returns the configuration of an administrator's client, which trusts the certificate in the file.
func (p *Process) ClientConfig(certificateFile string) (*restclient.Config, error) {
	certificate, err := os.ReadFile(certificateFile)
	if err != nil {
		return nil, err
	}
	config := &restclient.Config{
		Host:               fmt.Sprintf("https://127.0.0.1:%d", p.port),
		BearerToken:        p.token,
		TLSClientConfig:    restclient.TLSClientConfig{CAData: certificate, ServerName: serverName(certificate)},
		QPS:                -1,
		DisableCompression: true,
	}
	return config, nil
}

// serverName returns a name of the certificate if it is not valid for the address that clients connect to.
func serverName(certificate []byte) string {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return ""
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil || parsed.VerifyHostname("127.0.0.1") == nil || len(parsed.DNSNames) == 0 {
		return ""
	}
	return parsed.DNSNames[0]
}

// arguments returns the flags as a command line, sorted.
func (f Flags) arguments() []string {
	var arguments []string
	for name, values := range f {
		for _, value := range values {
			arguments = append(arguments, "--"+name+"="+value)
		}
	}
	sort.Strings(arguments)
	return arguments
}
