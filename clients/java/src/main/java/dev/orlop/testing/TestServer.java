package dev.orlop.testing;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/**
 * A Kubernetes API server for tests: in memory, on a free port, gone when the test process is gone. Any number of them can run at
 * once: each has its own port, directory and objects.
 */
public final class TestServer implements AutoCloseable {
    private static final String DEFINITIONS_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    private static final String ADMIN_GROUP = "system:masters";
    private static final Duration REQUEST_TIMEOUT = Duration.ofMinutes(1);
    private static final Duration ESTABLISHED_TIMEOUT = Duration.ofSeconds(30);
    private static final long STOP_TIMEOUT_SECONDS = 5;

    private static final Pattern IS_DEFINITION =
            Pattern.compile("(?m)(?:^|[{,\\s])[\"']?kind[\"']?\\s*:\\s*[\"']?CustomResourceDefinition[\"']?\\s*(?:[,}#]|$)");
    private static final Pattern DOCUMENT_SEPARATOR = Pattern.compile("(?m)^---(?:[ \\t].*)?$");

    // Beside the server runs a shell that says where the kubeconfig is, and then waits for the end of its standard input. That is a
    // pipe from this process: however this process ends, the pipe is closed, the shell ends, and the server with it.
    private static final String WAIT_FOR_END_OF_INPUT = "echo \"$KUBECONFIG\"; exec cat >/dev/null";

    private final String program;
    private final Process process;
    private final CompletableFuture<String> messages;
    private final Path kubeconfigPath;
    private final String url;
    private final SSLContext sslContext;
    private final HttpClient client;

    /** The server could not be started, or a definition is not served. */
    public static final class StartException extends RuntimeException {
        private static final long serialVersionUID = 1;

        StartException(String message, Throwable cause) {
            super(message, cause);
        }

        StartException(String message) {
            super(message);
        }
    }

    /** The server answered a request with an error. */
    public static final class ApiException extends RuntimeException {
        private static final long serialVersionUID = 1;
        private final int status;
        private final String body;

        ApiException(int status, String body) {
            super(status + ": " + message(body));
            this.status = status;
            this.body = body;
        }

        private static String message(String body) {
            try {
                return Json.at(Json.parse(body), "message") instanceof String message ? message : body;
            } catch (IllegalArgumentException text) {
                return body;
            }
        }

        /** Returns the HTTP status code. */
        public int status() {
            return status;
        }

        /** Returns the {@code Status} object of the answer, in JSON. */
        public String body() {
            return body;
        }
    }

    /** The configuration of a server. It can start any number of them. */
    public static final class Builder {
        private final List<String> flags = new ArrayList<>();
        private final List<Path> crds = new ArrayList<>();
        private String program;
        private Duration startTimeout = Duration.ofSeconds(30);

        private Builder() {}

        /** Adds flags of the server. */
        public Builder flags(String... flags) {
            this.flags.addAll(List.of(flags));
            return this;
        }

        /** Adds files with CustomResourceDefinitions, or directories of such files. */
        public Builder crds(Path... paths) {
            crds.addAll(List.of(paths));
            return this;
        }

        /** Sets the path of the program, instead of that of {@link TestServer#findProgram}. */
        public Builder program(String program) {
            this.program = program;
            return this;
        }

        /** Sets the time for the server to be ready: 30 seconds unless given. */
        public Builder startTimeout(Duration startTimeout) {
            this.startTimeout = startTimeout;
            return this;
        }

        /**
         * Starts a server, and returns when it is ready and the definitions are served.
         *
         * @throws StartException with the server's messages if it does not start
         * @throws ApiException if a definition is refused
         */
        public TestServer start() {
            return new TestServer(this);
        }
    }

    /** Returns a configuration without flags and definitions. */
    public static Builder builder() {
        return new Builder();
    }

    /** Starts a server with the default configuration, and returns when it is ready. */
    public static TestServer start() {
        return builder().start();
    }

    /**
     * Returns the path of the server: that in the variable {@code ORLOP_BIN}, or {@code apiserver} on {@code PATH}.
     *
     * @throws StartException if there is none
     */
    public static String findProgram() {
        String chosen = System.getenv("ORLOP_BIN");
        if (chosen != null && !chosen.isEmpty()) {
            if (!isProgram(chosen)) {
                throw new StartException("ORLOP_BIN=" + chosen + ": there is no program that can be run");
            }
            return chosen;
        }
        String directories = System.getenv().getOrDefault("PATH", "");
        return Stream.of(directories.split(Pattern.quote(File.pathSeparator)))
                .map(directory -> Path.of(directory, "apiserver").toString())
                .filter(TestServer::isProgram)
                .findFirst()
                .orElseThrow(() -> new StartException("the program `apiserver` is not on PATH: build it with "
                        + "`cargo build --release -p apiserver`, and set ORLOP_BIN to its path"));
    }

    private TestServer(Builder builder) {
        program = builder.program != null ? builder.program : findProgram();
        List<String> command = new ArrayList<>(List.of(program));
        command.addAll(builder.flags);
        command.addAll(List.of("test", "--", "sh", "-c", WAIT_FOR_END_OF_INPUT));
        try {
            process = new ProcessBuilder(command).start();
        } catch (IOException error) {
            throw new StartException(program + ": " + error.getMessage(), error);
        }
        try {
            messages = inBackground(() -> text(process.getErrorStream()));
            kubeconfigPath = awaitKubeconfig(builder.startTimeout);
            url = string(kubeconfig("admin", ADMIN_GROUP), "clusters", 0, "cluster", "server");
            sslContext = administrator(directory().resolve("pki"));
            client = HttpClient.newBuilder().sslContext(sslContext).connectTimeout(REQUEST_TIMEOUT).build();
            createCrds(builder.crds.toArray(Path[]::new));
        } catch (RuntimeException | Error error) {
            close();
            throw error;
        }
    }

    /** Returns the URL of the server. */
    public String url() {
        return url;
    }

    /** Returns the path of the kubeconfig of an administrator. */
    public Path kubeconfigPath() {
        return kubeconfigPath;
    }

    /** Returns the temporary directory of the server: keys and certificates. */
    public Path directory() {
        return kubeconfigPath.getParent();
    }

    /** Returns the TLS configuration of an administrator, for clients that take no kubeconfig. */
    public SSLContext sslContext() {
        return sslContext;
    }

    /**
     * Returns a kubeconfig for a user, in JSON, with a new client certificate. The user may do what RBAC allows; the group
     * {@code system:masters} may do everything.
     */
    public String kubeconfig(String user, String... groups) {
        List<String> command = new ArrayList<>(List.of(program, "--data-dir=" + directory(), "kubeconfig", "--user=" + user));
        Stream.of(groups).forEach(group -> command.add("--group=" + group));
        try {
            Process made = new ProcessBuilder(command).start();
            made.getOutputStream().close();
            CompletableFuture<String> refusal = inBackground(() -> text(made.getErrorStream()));
            String kubeconfig = text(made.getInputStream());
            if (made.waitFor() != 0) {
                throw new StartException("no kubeconfig for " + user + ": " + refusal.join().strip());
            }
            return kubeconfig;
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            throw interrupted(error);
        }
    }

    /**
     * Sends a request as the administrator, and returns the body of the answer, in JSON. The body, in YAML or JSON, may be
     * {@code null}.
     *
     * @throws ApiException for an answer of 400 and above
     */
    public String request(String method, String path, String body) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).timeout(REQUEST_TIMEOUT);
        request.header("Accept", "application/json");
        if (body != null) {
            request.header("Content-Type", "application/yaml");
        }
        request.method(method, body != null ? BodyPublishers.ofString(body) : BodyPublishers.noBody());
        try {
            HttpResponse<String> answer = client.send(request.build(), BodyHandlers.ofString());
            if (answer.statusCode() >= 400) {
                throw new ApiException(answer.statusCode(), answer.body());
            }
            return answer.body();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            throw interrupted(error);
        }
    }

    /**
     * Creates the CustomResourceDefinitions in files or directories, and waits until they are served. Documents of other kinds are
     * passed over, as envtest does. Returns the names of the definitions.
     *
     * @throws StartException if a file has no definition, or a definition is not served
     * @throws ApiException if a definition is refused
     */
    public List<String> createCrds(Path... paths) {
        List<String> names = new ArrayList<>();
        for (Path path : paths) {
            for (String definition : definitions(path)) {
                names.add(string(request("POST", DEFINITIONS_PATH, definition), "metadata", "name"));
            }
        }
        long deadline = System.nanoTime() + ESTABLISHED_TIMEOUT.toNanos();
        names.forEach(name -> awaitEstablished(name, deadline));
        return names;
    }

    /** Creates a namespace with a name that no other has, and returns the name. */
    public String createNamespace(String prefix) {
        String namespace = """
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "%s"}}""".formatted(prefix);
        return string(request("POST", "/api/v1/namespaces", namespace), "metadata", "name");
    }

    /** Stops the server, and removes all it has written. A second call does nothing. */
    @Override
    public void close() {
        try {
            process.getOutputStream().close();
        } catch (IOException ended) {
            // The other side of the pipe is gone, as it should be.
        }
        try {
            if (!process.waitFor(STOP_TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                process.destroy();
            }
            if (!process.waitFor(STOP_TIMEOUT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException error) {
            process.destroyForcibly();
            throw interrupted(error);
        }
    }

    /** Waits until the server is ready. */
    private Path awaitKubeconfig(Duration timeout) {
        BufferedReader output = process.inputReader();
        CompletableFuture<String> line = inBackground(() -> {
            try {
                return output.readLine();
            } catch (IOException error) {
                throw new UncheckedIOException(error);
            }
        });
        try {
            String path = line.get(timeout.toMillis(), TimeUnit.MILLISECONDS);
            if (path != null) {
                return Path.of(path);
            }
            throw new StartException("the server ended with " + process.waitFor() + " before it was ready:\n" + said());
        } catch (TimeoutException late) {
            process.destroyForcibly();
            throw new StartException("the server was not ready within " + timeout + ":\n" + said(), late);
        } catch (ExecutionException error) {
            throw new StartException("the output of the server cannot be read", error);
        } catch (InterruptedException error) {
            throw interrupted(error);
        }
    }

    /** Returns the messages of a server that has ended. */
    private String said() {
        // A process that the server has left may keep the stream open.
        return messages.completeOnTimeout("", STOP_TIMEOUT_SECONDS, TimeUnit.SECONDS).join().strip();
    }

    private void awaitEstablished(String name, long deadline) {
        while (true) {
            String definition = request("GET", DEFINITIONS_PATH + "/" + name, null);
            // `null` until the first condition is there.
            Object conditions = Json.at(Json.parse(definition), "status", "conditions");
            if (conditions instanceof List<?> list && list.stream().anyMatch(TestServer::isEstablished)) {
                return;
            }
            if (System.nanoTime() > deadline) {
                throw new StartException("the definition " + name + " is not served: " + conditions);
            }
            try {
                Thread.sleep(10);
            } catch (InterruptedException error) {
                throw interrupted(error);
            }
        }
    }

    /** Returns the TLS configuration with the keys in a directory. */
    private static SSLContext administrator(Path keys) {
        try {
            KeyStore own = KeyStore.getInstance("PKCS12");
            own.load(null, null);
            String key = Files.readString(keys.resolve("admin.key")).replaceAll("-----.*-----|\\s", "");
            PKCS8EncodedKeySpec encoded = new PKCS8EncodedKeySpec(Base64.getDecoder().decode(key));
            Certificate[] chain = {certificate(keys.resolve("admin.crt"))};
            own.setKeyEntry("admin", KeyFactory.getInstance("EC").generatePrivate(encoded), new char[0], chain);
            KeyManagerFactory identities = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            identities.init(own, new char[0]);

            KeyStore trusted = KeyStore.getInstance("PKCS12");
            trusted.load(null, null);
            trusted.setCertificateEntry("ca", certificate(keys.resolve("ca.crt")));
            TrustManagerFactory authorities = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            authorities.init(trusted);

            SSLContext context = SSLContext.getInstance("TLS");
            context.init(identities.getKeyManagers(), authorities.getTrustManagers(), null);
            return context;
        } catch (GeneralSecurityException | IOException error) {
            throw new StartException(keys + ": the keys of the administrator cannot be read", error);
        }
    }

    private static Certificate certificate(Path path) throws GeneralSecurityException, IOException {
        try (InputStream file = Files.newInputStream(path)) {
            return CertificateFactory.getInstance("X.509").generateCertificate(file);
        }
    }

    /** Returns the documents of a file or directory that are CustomResourceDefinitions. */
    private static List<String> definitions(Path path) {
        List<String> documents = new ArrayList<>();
        try (Stream<Path> files = Files.isDirectory(path) ? Files.list(path).sorted() : Stream.of(path)) {
            boolean isDirectory = Files.isDirectory(path);
            for (Path file : files.toList()) {
                if (isDirectory && !file.toString().matches(".*\\.(yaml|yml|json)")) {
                    continue;
                }
                DOCUMENT_SEPARATOR.splitAsStream(Files.readString(file)).filter(IS_DEFINITION.asPredicate()).forEach(documents::add);
            }
        } catch (IOException error) {
            throw new StartException(path + ": " + error, error);
        }
        if (documents.isEmpty()) {
            throw new StartException(path + ": contains no CustomResourceDefinition");
        }
        return documents;
    }

    private static boolean isEstablished(Object condition) {
        return "Established".equals(Json.at(condition, "type")) && "True".equals(Json.at(condition, "status"));
    }

    /** Returns the text at a path of a JSON object. */
    private static String string(String object, Object... path) {
        if (Json.at(Json.parse(object), path) instanceof String text) {
            return text;
        }
        throw new StartException("the answer has no " + List.of(path) + ": " + object);
    }

    private static boolean isProgram(String path) {
        return Files.isRegularFile(Path.of(path)) && Files.isExecutable(Path.of(path));
    }

    private static String text(InputStream stream) {
        try (stream) {
            return new String(stream.readAllBytes());
        } catch (IOException error) {
            return error.toString();
        }
    }

    /** Calls a function in a thread that does not keep this process from ending. */
    private static <T> CompletableFuture<T> inBackground(Supplier<T> function) {
        return CompletableFuture.supplyAsync(function, task -> {
            Thread thread = new Thread(task, "orlop-test");
            thread.setDaemon(true);
            thread.start();
        });
    }

    private static StartException interrupted(InterruptedException error) {
        Thread.currentThread().interrupt();
        return new StartException("the thread was interrupted", error);
    }
}
