package dev.orlop.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.orlop.testing.TestServer.ApiException;
import dev.orlop.testing.TestServer.StartException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

class OrlopExtensionTest {
    static final Path WIDGETS = Path.of("src/test/resources/widgets.yaml");
    static final String WIDGETS_PATH = "/apis/example.com/v1/namespaces/default/widgets";

    @RegisterExtension
    static final OrlopExtension orlop = new OrlopExtension(TestServer.builder().crds(WIDGETS));

    @Test
    void aNamespaceEndsWithItsObjects(TestServer server) throws Exception {
        String path = "/api/v1/namespaces/" + server.createNamespace("test-");
        server.request("POST", path + "/configmaps", named("v1", "ConfigMap", "first"));
        server.request("DELETE", path, null);
        for (String gone : List.of(path, path + "/configmaps/first")) {
            becomes(gone + " is gone", () -> status(server, gone) == 404);
        }
    }

    @Test
    void definitionsAreServedWhenTheServerHasStartedWithThem(TestServer server) {
        assertSame(orlop.server(), server);
        String widget = named("example.com/v1", "Widget", "w") + "spec: {size: %d}\n";
        ApiException refused = assertThrows(ApiException.class, () -> server.request("POST", WIDGETS_PATH, widget.formatted(0)));
        assertEquals(422, refused.status());
        assertTrue(refused.getMessage().contains("spec.size in body should be greater than or equal to 1"), refused.getMessage());
        Object created = Json.parse(server.request("POST", WIDGETS_PATH, widget.formatted(1)));
        assertEquals("1", Json.at(created, "spec", "size"));
    }

    @Test
    void aFileWithoutDefinitionsIsAnError(@TempDir Path directory) throws IOException {
        Path other = Files.writeString(directory.resolve("other.yaml"), named("v1", "ConfigMap", "a"));
        for (Path path : List.of(other, directory.resolve("absent.yaml"))) {
            StartException error = assertThrows(StartException.class, () -> orlop.server().createCrds(path));
            assertTrue(error.getMessage().startsWith(path.toString()), error.getMessage());
        }
    }

    @Test
    void answersAreRead() {
        Object read = Json.parse("{\"a\": [1, -2.5e3, \"x\\n\\u00e4\\\\\"], \"b\": {}, \"c\": [], \"d\": null}\n");
        assertEquals(Map.of("a", List.of("1", "-2.5e3", "x\nä\\"), "b", Map.of(), "c", List.of(), "d", "null"), read);
        assertThrows(IllegalArgumentException.class, () -> Json.parse("no"));
    }

    @Test
    void aUserHasAKubeconfigOfTheirOwn() {
        String kubeconfig = orlop.server().kubeconfig("jane", "devs");
        for (String part : List.of("\"user\": \"jane\"", orlop.server().url())) {
            assertTrue(kubeconfig.contains(part), kubeconfig);
        }
    }

    @Test
    void otherClientsTakeTheTlsConfigurationOfTheAdministrator(TestServer server) throws Exception {
        HttpClient client = HttpClient.newBuilder().sslContext(server.sslContext()).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create(server.url() + "/api/v1/secrets")).build();
        assertEquals(200, client.send(request, BodyHandlers.ofString()).statusCode());
    }

    @Test
    void serversInParallelAreSeparate() {
        List<Integer> counts = IntStream.range(0, 4).parallel().mapToObj(number -> {
            try (TestServer server = TestServer.start()) {
                String path = "/api/v1/namespaces/default/secrets";
                IntStream.range(0, number).forEach(index -> server.request("POST", path, named("v1", "Secret", "s" + index)));
                return ((List<?>) Json.at(Json.parse(server.request("GET", path, null)), "items")).size();
            }
        }).toList();
        assertEquals(List.of(0, 1, 2, 3), counts);
    }

    @Test
    void aServerThatHasBeenStoppedLeavesNothing() {
        TestServer server = TestServer.start();
        assertTrue(Files.exists(server.directory()));
        server.close();
        server.close();
        assertFalse(Files.exists(server.directory()));
    }

    @Test
    void aServerThatDoesNotStartIsAnError(@TempDir Path directory) throws IOException {
        Path hanging = Files.writeString(directory.resolve("apiserver"), "#!/bin/sh\nexec sleep 1000\n");
        assertTrue(hanging.toFile().setExecutable(true));
        fails("--no-such-flag", TestServer.builder().flags("--no-such-flag"));
        fails("/nonexistent/apiserver", TestServer.builder().program("/nonexistent/apiserver"));
        fails("was not ready", TestServer.builder().program(hanging.toString()).startTimeout(Duration.ofMillis(200)));
    }

    @Test
    void nothingIsLeftWhenTheTestProcessIsKilled() throws Exception {
        Process child = child(StartAndWait.class, System.getenv("ORLOP_BIN"));
        Path directory = Path.of(child.inputReader().readLine());
        assertTrue(Files.exists(directory));
        child.destroyForcibly().waitFor();
        becomes(directory + " is removed", () -> !Files.exists(directory));
    }

    @Test
    void aProgramThatIsNotThereIsAnError() throws Exception {
        Process child = child(StartAndWait.class, "/nonexistent/apiserver");
        String message = new String(child.getErrorStream().readAllBytes());
        assertTrue(message.contains("ORLOP_BIN=/nonexistent/apiserver: there is no program that can be run"), message);
    }

    /** A field that is not static. */
    @Nested
    class OtherServers {
        private static final Set<String> URLS = new HashSet<>();

        @RegisterExtension
        final OrlopExtension own = new OrlopExtension(TestServer.builder());

        @RepeatedTest(2)
        void eachTestHasAServerOfItsOwn() {
            assertNotEquals(orlop.server().url(), own.server().url());
            assertTrue(URLS.add(own.server().url()));
            assertEquals(404, status(own.server(), WIDGETS_PATH));
            own.server().request("POST", "/api/v1/namespaces", named("v1", "Namespace", "only-here"));
        }
    }

    /** A test process that is killed. */
    static final class StartAndWait {
        public static void main(String[] arguments) throws InterruptedException {
            TestServer server = TestServer.start();
            System.out.println(server.directory());
            Thread.sleep(Duration.ofHours(1).toMillis());
        }
    }

    private static Process child(Class<?> program, String server) throws Exception {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String classes = location(TestServer.class) + System.getProperty("path.separator") + location(program);
        ProcessBuilder command = new ProcessBuilder(java, "-cp", classes, program.getName());
        command.environment().put("ORLOP_BIN", server);
        return command.start();
    }

    private static String location(Class<?> loaded) throws Exception {
        return Path.of(loaded.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    }

    private static String named(String apiVersion, String kind, String name) {
        return "apiVersion: %s\nkind: %s\nmetadata: {name: %s}\n".formatted(apiVersion, kind, name);
    }

    private static int status(TestServer server, String path) {
        try {
            server.request("GET", path, null);
            return 200;
        } catch (ApiException refused) {
            return refused.status();
        }
    }

    private static void fails(String message, TestServer.Builder builder) {
        StartException error = assertThrows(StartException.class, () -> builder.start().close());
        assertTrue(error.getMessage().contains(message), error.getMessage());
    }

    private static void becomes(String description, BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + Duration.ofSeconds(10).toNanos();
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "it does not hold that " + description);
            Thread.sleep(20);
        }
    }
}

/** Two classes that share a server. */
@ExtendWith(OrlopExtension.class)
class SharedServerTest {
    static final Set<String> URLS = ConcurrentHashMap.newKeySet();

    @Test
    void theServerIsThatOfTheOtherClass(TestServer server) {
        URLS.add(server.url());
        assertEquals(Set.of(server.url()), URLS);
    }
}

@ExtendWith(OrlopExtension.class)
class SharedServerAgainTest {
    @Test
    void theServerIsThatOfTheOtherClass(TestServer server) {
        new SharedServerTest().theServerIsThatOfTheOtherClass(server);
    }
}
