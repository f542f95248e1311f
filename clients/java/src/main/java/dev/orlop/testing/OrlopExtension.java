package dev.orlop.testing;

import java.util.Optional;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * A JUnit 5 extension that runs a {@link TestServer}, and passes it to constructors and methods with a parameter of that type.
 *
 * <p>{@code @ExtendWith(OrlopExtension.class)} is one server, without flags and definitions, for all classes of a run that say so.
 * A static field is a server for its class, another field one for each test:
 *
 * <pre>{@code
 * @RegisterExtension
 * static final OrlopExtension orlop = new OrlopExtension(TestServer.builder().crds(Path.of("config/crd")));
 * }</pre>
 */
public final class OrlopExtension implements BeforeAllCallback, BeforeEachCallback, ParameterResolver {
    private static final Namespace NAMESPACE = Namespace.create(OrlopExtension.class);

    private final Optional<TestServer.Builder> builder;
    private volatile TestServer server;

    /** A server with the default configuration, shared by all classes of a run. */
    public OrlopExtension() {
        builder = Optional.empty();
    }

    /** A server of its own. */
    public OrlopExtension(TestServer.Builder builder) {
        this.builder = Optional.of(builder);
    }

    /**
     * Returns the server of the tests that run now.
     *
     * @throws IllegalStateException if no test runs
     */
    public TestServer server() {
        TestServer running = server;
        if (running == null) {
            throw new IllegalStateException("the server starts with the tests; the field needs @RegisterExtension");
        }
        return running;
    }

    @Override
    public void beforeAll(ExtensionContext context) {
        server = provide(context);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        server = provide(context);
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == TestServer.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return provide(context);
    }

    /** Returns the server of a context or of one around it, or else starts one, which ends with this context. */
    private TestServer provide(ExtensionContext context) {
        ExtensionContext owner = builder.isPresent() ? context : context.getRoot();
        Object key = builder.isPresent() ? this : OrlopExtension.class;
        return owner.getStore(NAMESPACE).getOrComputeIfAbsent(key, absent -> new Running(start()), Running.class).server();
    }

    private TestServer start() {
        return builder.orElseGet(TestServer::builder).start();
    }

    /** A server that JUnit stops when the context that it was started for has ended. */
    private record Running(TestServer server) implements CloseableResource {
        @Override
        public void close() {
            server.close();
        }
    }
}
