package orloptest

import (
	"bufio"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	widgets     = "testdata/widgets.yaml"
	widgetsPath = "/apis/example.com/v1/namespaces/default/widgets"
	// onlyStart names a process that starts a server, says where, and waits to be killed.
	onlyStart = "ORLOPTEST_ONLY_START"
)

var shared *Server

func TestMain(m *testing.M) {
	started, err := Start(Options{CRDs: []string{widgets}})
	if err != nil {
		log.Fatal(err)
	}
	if os.Getenv(onlyStart) != "" {
		fmt.Println(started.Directory)
		time.Sleep(time.Hour)
	}
	shared = started
	code := m.Run()
	shared.Stop()
	os.Exit(code)
}

type object = map[string]any

func named(apiVersion, kind, name string) object {
	return object{"apiVersion": apiVersion, "kind": kind, "metadata": object{"name": name}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func becomes(t *testing.T, description string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not hold that " + description)
		}
	}
}

func status(err error) int {
	if refused := (&APIError{}); errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

func isAbsent(path string) bool {
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}

func TestANamespaceEndsWithItsObjects(t *testing.T) {
	name, err := shared.CreateNamespace("test-")
	must(t, err)
	path := "/api/v1/namespaces/" + name
	must(t, shared.Request(http.MethodPost, path+"/configmaps", named("v1", "ConfigMap", "first"), nil))
	must(t, shared.Request(http.MethodDelete, path, nil, nil))
	for _, gone := range []string{path, path + "/configmaps/first"} {
		becomes(t, gone+" is gone", func() bool {
			return status(shared.Request(http.MethodGet, gone, nil, nil)) == http.StatusNotFound
		})
	}
}

func TestDefinitionsAreServedWhenTheServerHasStartedWithThem(t *testing.T) {
	widget := named("example.com/v1", "Widget", "w")
	widget["spec"] = object{"size": 0}
	err := shared.Request(http.MethodPost, widgetsPath, widget, nil)
	if status(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), "greater than or equal to 1") {
		t.Fatal(err)
	}
	widget["spec"] = object{"size": 1}
	var created struct{ Spec struct{ Size int } }
	must(t, shared.Request(http.MethodPost, widgetsPath, widget, &created))
	if created.Spec.Size != 1 {
		t.Fatal(created)
	}
}

func TestAFileWithoutDefinitionsIsAnError(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other.yaml")
	must(t, os.WriteFile(other, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), 0o600))
	for _, path := range []string{other, other + ".absent"} {
		if _, err := shared.CreateCRDs(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Fatal(err)
		}
	}
}

func TestAUserHasAKubeconfigOfTheirOwn(t *testing.T) {
	kubeconfig, err := shared.Kubeconfig("jane", "devs")
	must(t, err)
	for _, part := range []string{`"user": "jane"`, shared.URL} {
		if !strings.Contains(string(kubeconfig), part) {
			t.Fatalf("%s lacks %s", kubeconfig, part)
		}
	}
}

func TestServersInParallelAreSeparate(t *testing.T) {
	var group sync.WaitGroup
	for number := range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			server := New(t, Options{})
			path := "/api/v1/namespaces/default/secrets"
			for index := range number {
				if err := server.Request(http.MethodPost, path, named("v1", "Secret", fmt.Sprint("s", index)), nil); err != nil {
					t.Error(err)
				}
			}
			var listed struct{ Items []any }
			if err := server.Request(http.MethodGet, path, nil, &listed); err != nil || len(listed.Items) != number {
				t.Error(err, len(listed.Items), number)
			}
		}()
	}
	group.Wait()
}

func TestAServerThatHasBeenStoppedLeavesNothing(t *testing.T) {
	server := New(t, Options{})
	server.Stop()
	server.Stop()
	if !isAbsent(server.Directory) {
		t.Fatal(server.Directory)
	}
}

func TestAServerThatDoesNotStartIsAnError(t *testing.T) {
	hanging := filepath.Join(t.TempDir(), "apiserver")
	must(t, os.WriteFile(hanging, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700))
	for message, options := range map[string]Options{
		"--no-such-flag":           {Flags: []string{"--no-such-flag"}},
		"/nonexistent/apiserver":   {Server: "/nonexistent/apiserver"},
		"the server was not ready": {Server: hanging, StartTimeout: 200 * time.Millisecond},
	} {
		if _, err := Start(options); err == nil || !strings.Contains(err.Error(), message) {
			t.Fatalf("%v lacks %s", err, message)
		}
	}
	t.Setenv("ORLOP_BIN", "/nonexistent/apiserver")
	if _, err := Start(Options{}); err == nil || !strings.Contains(err.Error(), "ORLOP_BIN=/nonexistent/apiserver") {
		t.Fatal(err)
	}
}

func TestNothingIsLeftWhenTheTestProcessIsKilled(t *testing.T) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), onlyStart+"=1")
	output, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	must(t, err)
	must(t, child.Process.Kill())
	_ = child.Wait()
	directory := strings.TrimSpace(line)
	becomes(t, directory+" is removed", func() bool { return isAbsent(directory) })
}
