package orloptest

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"time"
)

const (
	definitionsPath    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	establishedTimeout = 30 * time.Second
	requestTimeout     = time.Minute
)

var (
	isDefinition      = regexp.MustCompile(`(?m)(?:^|[{,\s])["']?kind["']?\s*:\s*["']?CustomResourceDefinition["']?\s*(?:[,}#]|$)`)
	documentSeparator = regexp.MustCompile(`(?m)^---(?:[ \t].*)?$`)
)

// APIError is the answer to a request that the server has refused.
type APIError struct {
	// Status is the HTTP status code.
	Status int
	// Message is that of the `Status` object.
	Message string
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%d: %s", e.Status, e.Message)
}

// Kubeconfig returns a kubeconfig for a user, with a new client certificate. The user may do what RBAC allows; the group
// `system:masters` may do everything. client-go reads it with clientcmd.RESTConfigFromKubeConfig.
func (s *Server) Kubeconfig(user string, groups ...string) ([]byte, error) {
	arguments := []string{"--data-dir=" + s.Directory, "kubeconfig", "--user=" + user}
	for _, group := range groups {
		arguments = append(arguments, "--group="+group)
	}
	kubeconfig, err := exec.Command(s.program, arguments...).Output()
	if refused := (&exec.ExitError{}); errors.As(err, &refused) {
		return nil, fmt.Errorf("no kubeconfig for %s: %s", user, bytes.TrimSpace(refused.Stderr))
	}
	return kubeconfig, err
}

// Request sends a request as the administrator, and decodes the answer into `answer` unless that is nil. A body that is neither nil
// nor []byte, which is sent as YAML, is sent as JSON. The error is an *APIError for an answer of 400 and above.
func (s *Server) Request(method, path string, body, answer any) error {
	text, mediaType, err := encode(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(method, s.URL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", mediaType)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		var status struct{ Message string }
		if json.Unmarshal(data, &status) != nil {
			status.Message = string(data)
		}
		return &APIError{Status: response.StatusCode, Message: status.Message}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(data, answer)
}

func encode(body any) (text []byte, mediaType string, err error) {
	switch body := body.(type) {
	case nil:
		return nil, "", nil
	case []byte:
		return body, "application/yaml", nil
	default:
		text, err := json.Marshal(body)
		return text, "application/json", err
	}
}

// CreateCRDs creates the CustomResourceDefinitions in files or directories, and waits until they are served. Documents of other
// kinds are passed over, as envtest does. It returns the names of the definitions.
func (s *Server) CreateCRDs(paths ...string) ([]string, error) {
	var names []string
	for _, path := range paths {
		documents, err := definitions(path)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			var created struct{ Metadata struct{ Name string } }
			if err := s.Request(http.MethodPost, definitionsPath, document, &created); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			names = append(names, created.Metadata.Name)
		}
	}
	deadline := time.Now().Add(establishedTimeout)
	for _, name := range names {
		if err := s.awaitEstablished(name, deadline); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// CreateNamespace creates a namespace with a name that no other has, and returns the name.
func (s *Server) CreateNamespace(prefix string) (string, error) {
	namespace := map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": prefix},
	}
	var created struct{ Metadata struct{ Name string } }
	err := s.Request(http.MethodPost, "/api/v1/namespaces", namespace, &created)
	return created.Metadata.Name, err
}

// prepare makes the client of the administrator, and creates the definitions.
func (s *Server) prepare(options Options) error {
	kubeconfig, err := s.Kubeconfig("admin", adminGroup)
	if err != nil {
		return err
	}
	var config struct {
		Clusters []struct{ Cluster struct{ Server string } }
	}
	if err := json.Unmarshal(kubeconfig, &config); err != nil {
		return err
	}
	if len(config.Clusters) == 0 {
		return errors.New("the kubeconfig names no server")
	}
	s.URL = config.Clusters[0].Cluster.Server
	keys := filepath.Join(s.Directory, "pki")
	authority, err := os.ReadFile(filepath.Join(keys, "ca.crt"))
	if err != nil {
		return err
	}
	certificate, err := tls.LoadX509KeyPair(filepath.Join(keys, "admin.crt"), filepath.Join(keys, "admin.key"))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	settings := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}}
	s.client = &http.Client{Timeout: requestTimeout, Transport: &http.Transport{TLSClientConfig: settings}}
	_, err = s.CreateCRDs(options.CRDs...)
	return err
}

func (s *Server) awaitEstablished(name string, deadline time.Time) error {
	for {
		var definition struct {
			Status struct{ Conditions []struct{ Type, Status string } }
		}
		if err := s.Request(http.MethodGet, definitionsPath+"/"+name, nil, &definition); err != nil {
			return err
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == "Established" && condition.Status == "True" {
				return nil
			}
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the definition %s is not served: %v", name, definition.Status.Conditions)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// definitions returns the documents of a file or directory that are CustomResourceDefinitions.
func definitions(path string) ([][]byte, error) {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if info.IsDir() {
		files = nil
		for _, pattern := range []string{"*.yaml", "*.yml", "*.json"} {
			found, err := filepath.Glob(filepath.Join(path, pattern))
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
		sort.Strings(files)
	}
	var documents [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, document := range documentSeparator.Split(string(text), -1) {
			if isDefinition.MatchString(document) {
				documents = append(documents, []byte(document))
			}
		}
	}
	if len(documents) == 0 {
		return nil, fmt.Errorf("%s: contains no CustomResourceDefinition", path)
	}
	return documents, nil
}
