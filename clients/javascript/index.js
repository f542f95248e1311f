// A Kubernetes API server for tests: in memory, on a free port, gone when the test process is gone.

import { execFile, spawn } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const DEFINITIONS_PATH = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const ADMIN_GROUP = 'system:masters';
const IS_DEFINITION = /(?:^|[{,\s])["']?kind["']?\s*:\s*["']?CustomResourceDefinition["']?\s*(?:[,}#]|$)/m;
const DOCUMENT_SEPARATOR = /^---(?:[ \t].*)?$/m;
const STOP_TIMEOUT_MILLISECONDS = 5000;

// Beside the server runs a shell that says where the kubeconfig is, and then waits for the end of its standard input. That is a
// pipe from this process: however this process ends, the pipe is closed, the shell ends, and the server with it.
const WAIT_FOR_END_OF_INPUT = 'echo "$KUBECONFIG"; exec cat >/dev/null';

/** The server could not be started. */
export class StartError extends Error {
  name = 'StartError';
}

/** The server answered a request with an error. */
export class ApiError extends Error {
  name = 'ApiError';

  constructor(status, body) {
    super(`${status}: ${body?.message ?? body}`);
    this.status = status;
    this.body = body;
  }
}

/** Returns the path of the server: $ORLOP_BIN, the one in this package, or `apiserver` on PATH. */
export function findServer() {
  const chosen = process.env.ORLOP_BIN;
  if (chosen) {
    if (!isProgram(chosen)) {
      throw new StartError(`ORLOP_BIN=${chosen}: there is no program that can be run`);
    }
    return chosen;
  }
  const packaged = join(dirname(fileURLToPath(import.meta.url)), 'bin', 'apiserver');
  const onPath = (process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, 'apiserver'));
  const found = [packaged, ...onPath].find(isProgram);
  if (!found) {
    throw new StartError(
      'the program `apiserver` is neither in this package nor on PATH: build it with ' +
        '`cargo build --release -p apiserver`, and set ORLOP_BIN to its path',
    );
  }
  return found;
}

/** A running server. Any number of them can run at once. */
export class TestServer {
  #program;
  #process;
  #ended;
  #tls;

  /** Starts a server. The promise is kept when it is ready. */
  static async start({ flags = [], crds = [], server, startTimeoutMilliseconds = 30_000 } = {}) {
    const started = new TestServer();
    started.#program = server ?? findServer();
    try {
      await started.#launch(flags, startTimeoutMilliseconds);
      await started.createCrds(crds);
    } catch (error) {
      await started.stop();
      throw error;
    }
    return started;
  }

  /** Returns a kubeconfig for a user, with a new client certificate. The group `system:masters` may do everything. */
  async kubeconfig(user = 'admin', groups = [ADMIN_GROUP]) {
    const command = [`--data-dir=${this.directory}`, 'kubeconfig', `--user=${user}`];
    command.push(...groups.map((group) => `--group=${group}`));
    const { stdout } = await promisify(execFile)(this.#program, command);
    return JSON.parse(stdout);
  }

  /**
   * Sends a request as the administrator, and returns the object of the answer. A body that is not text is sent as JSON.
   * Rejects with an ApiError for an answer of 400 and above.
   */
  async request(method, path, body, contentType = 'application/json') {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const headers = { Accept: 'application/json', ...(text === undefined ? {} : { 'Content-Type': contentType }) };
    const { status, type, answer } = await this.#send({ method, path, headers }, text);
    const parsed = type?.startsWith('application/json') ? JSON.parse(answer) : answer;
    if (status >= 400) {
      throw new ApiError(status, parsed);
    }
    return parsed;
  }

  /**
   * Creates the CustomResourceDefinitions in files or directories, and waits until they are served. Documents of other kinds
   * are passed over, as envtest does. Returns the names of the definitions.
   */
  async createCrds(paths, timeoutMilliseconds = 30_000) {
    const names = [];
    for (const text of paths.flatMap(definitions)) {
      const definition = await this.request('POST', DEFINITIONS_PATH, text, 'application/yaml');
      names.push(definition.metadata.name);
    }
    const deadline = Date.now() + timeoutMilliseconds;
    for (const name of names) {
      await this.#established(name, deadline);
    }
    return names;
  }

  /** Creates a namespace with a name that no other has, and returns the name. */
  async createNamespace(prefix = 'test-') {
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { generateName: prefix } };
    const created = await this.request('POST', '/api/v1/namespaces', body);
    return created.metadata.name;
  }

  /** Stops the server, and removes all it has written. A second call does nothing. */
  async stop() {
    if (!this.#process) {
      return;
    }
    this.#process.stdin.destroy();
    for (const signal of ['SIGTERM', 'SIGKILL']) {
      const timeout = new AbortController();
      const late = pause(STOP_TIMEOUT_MILLISECONDS, 'late', { signal: timeout.signal }).catch(() => 'ended');
      const first = await Promise.race([this.#ended, late]);
      timeout.abort();
      if (first !== 'late') {
        return;
      }
      this.#process.kill(signal);
    }
    await this.#ended;
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() {
    await this.stop();
  }

  async #launch(flags, startTimeoutMilliseconds) {
    const command = [...flags, 'test', '--', 'sh', '-c', WAIT_FOR_END_OF_INPUT];
    const child = spawn(this.#program, command, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#process = child;
    let messages = '';
    child.stderr.on('data', (data) => (messages += data));
    // What is written to the pipe does not matter, nor whether the other side is gone.
    child.stdin.on('error', () => {});
    let failure;
    this.#ended = new Promise((ended) => {
      child.on('error', (error) => ended((failure = error.message)));
      child.on('close', (code, signal) => ended((failure ??= `it ended with ${signal ?? code}`)));
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), startTimeoutMilliseconds);
    const line = new Promise((read) => createInterface({ input: child.stdout }).once('line', read));
    const first = await Promise.race([line, this.#ended.then(() => undefined)]);
    clearTimeout(timer);
    if (!first) {
      throw new StartError(`the server was not ready: ${failure}\n${messages.trim()}`);
    }
    this.kubeconfigPath = first;
    this.directory = dirname(first);
    const config = await this.kubeconfig();
    this.url = config.clusters[0].cluster.server;
    const read = (name) => readFile(join(this.directory, 'pki', name));
    const [ca, cert, key] = await Promise.all(['ca.crt', 'admin.crt', 'admin.key'].map(read));
    this.#tls = { ca, cert, key };
    // A test process that has nothing else to do may end without stopping the server, which ends with it.
    child.unref();
    child.stdin.unref?.();
    child.stdout.unref?.();
    child.stderr.unref?.();
  }

  #send(options, text) {
    return new Promise((answered, failed) => {
      const sent = request(new URL(options.path, this.url), { ...options, ...this.#tls, agent: false }, (response) => {
        let answer = '';
        response.setEncoding('utf8');
        response.on('data', (data) => (answer += data));
        response.on('error', failed);
        response.on('end', () =>
          answered({ status: response.statusCode, type: response.headers['content-type'], answer }),
        );
      });
      sent.on('error', failed);
      sent.end(text);
    });
  }

  async #established(name, deadline) {
    for (;;) {
      const definition = await this.request('GET', `${DEFINITIONS_PATH}/${name}`);
      // `null` until the first condition is there.
      const conditions = definition.status?.conditions ?? [];
      if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) {
        return;
      }
      if (Date.now() > deadline) {
        throw new StartError(`the definition ${name} is not served: ${JSON.stringify(conditions)}`);
      }
      await pause(10);
    }
  }
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Returns the documents of a file or directory that are CustomResourceDefinitions. */
function definitions(path) {
  if (!existsSync(path)) {
    throw new StartError(`${path}: no such file or directory`);
  }
  const isDirectory = statSync(path).isDirectory();
  const names = isDirectory ? readdirSync(path).filter((name) => /\.(yaml|yml|json)$/.test(name)).sort() : [];
  const files = isDirectory ? names.map((name) => join(path, name)) : [path];
  const documents = files.flatMap((file) => readFileSync(file, 'utf8').split(DOCUMENT_SEPARATOR));
  const found = documents.filter((text) => IS_DEFINITION.test(text));
  if (found.length === 0) {
    throw new StartError(`${path}: contains no CustomResourceDefinition`);
  }
  return found;
}
