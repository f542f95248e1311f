// Package orloptest starts a Kubernetes API server for tests: in memory, on a free port, gone when the test process is gone. It
// needs no etcd, no kubebuilder, and no other module.
//
//	func TestMain(m *testing.M) {
//		server, err := orloptest.Start(orloptest.Options{CRDs: []string{"config/crd"}})
//		if err != nil {
//			log.Fatal(err)
//		}
//		os.Setenv("KUBECONFIG", server.KubeconfigPath)
//		code := m.Run()
//		server.Stop()
//		os.Exit(code)
//	}
package orloptest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	adminGroup          = "system:masters"
	defaultStartTimeout = 30 * time.Second
	stopTimeout         = 5 * time.Second
)

// Beside the server runs a shell that says where the kubeconfig is, and then waits for the end of its standard input. That is a
// pipe from this process: however this process ends, the pipe is closed, the shell ends, and the server with it.
const waitForEndOfInput = `echo "$KUBECONFIG"; exec cat >/dev/null`

// Options of a server. The zero value is a server without definitions, found by FindServer.
type Options struct {
	// Flags of the server.
	Flags []string
	// CRDs are files with CustomResourceDefinitions, or directories of such files.
	CRDs []string
	// Server is the path of the program, instead of that of FindServer.
	Server string
	// StartTimeout is the time for the server to be ready: 30 seconds unless given.
	StartTimeout time.Duration
}

// Server is a running server. Any number of them can run at once: each has its own port, directory and objects.
type Server struct {
	// KubeconfigPath is the path of the kubeconfig of an administrator.
	KubeconfigPath string
	// Directory is the temporary directory of the server: keys and certificates.
	Directory string
	// URL of the server.
	URL string

	program  string
	command  *exec.Cmd
	input    io.WriteCloser
	messages lockedBuffer
	ended    chan struct{}
	client   *http.Client
	stop     sync.Once
}

// FindServer returns the path of the server: that in the variable ORLOP_BIN, or `apiserver` on PATH.
func FindServer() (string, error) {
	if chosen := os.Getenv("ORLOP_BIN"); chosen != "" {
		if _, err := exec.LookPath(chosen); err != nil {
			return "", fmt.Errorf("ORLOP_BIN=%s: there is no program that can be run: %w", chosen, err)
		}
		return chosen, nil
	}
	found, err := exec.LookPath("apiserver")
	if err != nil {
		return "", errors.New("the program `apiserver` is not on PATH: build it with " +
			"`cargo build --release -p apiserver`, and set ORLOP_BIN to its path")
	}
	return found, nil
}

// Start starts a server, and returns when it is ready. The error has the server's messages.
func Start(options Options) (*Server, error) {
	program := options.Server
	if program == "" {
		found, err := FindServer()
		if err != nil {
			return nil, err
		}
		program = found
	}
	server := &Server{program: program, ended: make(chan struct{})}
	if err := server.launch(options); err != nil {
		return nil, err
	}
	if err := server.prepare(options); err != nil {
		server.Stop()
		return nil, err
	}
	return server, nil
}

// New starts a server for one test, which ends with the test. The test fails if the server does not start.
func New(t testing.TB, options Options) *Server {
	t.Helper()
	server, err := Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	return server
}

// Stop stops the server, and removes all it has written. A second call does nothing.
func (s *Server) Stop() {
	s.stop.Do(func() {
		_ = s.input.Close()
		for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			select {
			case <-s.ended:
				return
			case <-time.After(stopTimeout):
				_ = s.command.Process.Signal(end)
			}
		}
		<-s.ended
	})
}

// launch starts the program, and waits for the path of the kubeconfig.
func (s *Server) launch(options Options) error {
	arguments := append(append([]string{}, options.Flags...), "test", "--", "sh", "-c", waitForEndOfInput)
	s.command = exec.Command(s.program, arguments...)
	s.command.Stderr = &s.messages
	input, err := s.command.StdinPipe()
	if err != nil {
		return err
	}
	s.input = input
	output, lines, err := os.Pipe()
	if err != nil {
		return err
	}
	defer output.Close()
	s.command.Stdout = lines
	err = s.command.Start()
	_ = lines.Close()
	if err != nil {
		return fmt.Errorf("%s: %w", s.program, err)
	}
	timeout := options.StartTimeout
	if timeout == 0 {
		timeout = defaultStartTimeout
	}
	_ = output.SetReadDeadline(time.Now().Add(timeout))
	line, readError := bufio.NewReader(output).ReadString('\n')
	if errors.Is(readError, os.ErrDeadlineExceeded) {
		_ = s.command.Process.Kill()
	}
	go func() {
		_ = s.command.Wait()
		close(s.ended)
	}()
	if readError != nil {
		s.Stop()
		return fmt.Errorf("the server was not ready (%s): %w\n%s", s.command.ProcessState, readError, s.messages.text())
	}
	s.KubeconfigPath = line[:len(line)-1]
	s.Directory = filepath.Dir(s.KubeconfigPath)
	return nil
}

// lockedBuffer holds the messages of the server, which are written while they may be read.
type lockedBuffer struct {
	lock   sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.Write(data)
}

func (b *lockedBuffer) text() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.buffer.String()
}
