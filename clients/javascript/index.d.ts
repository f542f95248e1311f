/** The server could not be started. */
export class StartError extends Error {}

/** The server answered a request with an error. */
export class ApiError extends Error {
  /** The HTTP status code. */
  readonly status: number;
  /** The `Status` object of the answer. */
  readonly body: unknown;
}

/** Returns the path of the server: $ORLOP_BIN, the one in this package, or `apiserver` on PATH. */
export function findServer(): string;

export interface StartOptions {
  /** Flags of the server. */
  flags?: string[];
  /** Files with CustomResourceDefinitions, or directories of such files. */
  crds?: string[];
  /** The path of the server, instead of that of `findServer`. */
  server?: string;
  /** Time for the server to be ready: 30,000 unless given. */
  startTimeoutMilliseconds?: number;
}

/** A kubeconfig, as `KubeConfig.loadFromString(JSON.stringify(…))` of `@kubernetes/client-node` takes it. */
export interface Kubeconfig {
  apiVersion: 'v1';
  kind: 'Config';
  'current-context': string;
  clusters: { name: string; cluster: { server: string; 'certificate-authority-data': string } }[];
  contexts: { name: string; context: { cluster: string; user: string } }[];
  users: { name: string; user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

/** A running server. Any number of them can run at once: each has its own port, directory and objects. */
export class TestServer implements AsyncDisposable {
  private constructor();
  /** Starts a server. The promise is kept when it is ready, and broken with a StartError that has the server's messages. */
  static start(options?: StartOptions): Promise<TestServer>;
  /** The path of the kubeconfig of an administrator. */
  readonly kubeconfigPath: string;
  /** The temporary directory of the server: keys and certificates. */
  readonly directory: string;
  /** The URL of the server. */
  readonly url: string;
  /** Returns a kubeconfig for a user, with a new client certificate. The group `system:masters` may do everything. */
  kubeconfig(user?: string, groups?: string[]): Promise<Kubeconfig>;
  /** Sends a request as the administrator. Rejects with an ApiError for an answer of 400 and above. */
  request<T = any>(method: string, path: string, body?: unknown, contentType?: string): Promise<T>;
  /** Creates CustomResourceDefinitions, and waits until they are served. Returns their names. */
  createCrds(paths: string[], timeoutMilliseconds?: number): Promise<string[]>;
  /** Creates a namespace with a name that no other has, and returns the name. */
  createNamespace(prefix?: string): Promise<string>;
  /** Stops the server, and removes all it has written. A second call does nothing. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
