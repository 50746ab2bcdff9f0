import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { UnderstudyError } from './errors.js'

// The shell ends the daemon when the shell's input is closed: by `stop`, and also when this process is killed. The
// daemon has no input of its own. The shell closes its own outputs, so that the pipes close when the daemon ends.
const watched = '"$0" "$@" < /dev/null & daemon=$!; exec > /dev/null 2>&1; read -r line; kill "$daemon"; wait "$daemon"'

/// The number of characters at the end of the log that are kept.
const logLimit = 64 << 10

/// A daemon that this process started.
export class Daemon {
  #process
  #log = ''

  /// Starts a daemon. The promise resolves when it accepts connections, and rejects with its log if it doesn't start.
  static async start({ binary = process.env.UNDERSTUDY_BINARY || 'understudy', seed, controlToken, arguments: others = [], environment = {}, ...unknown } = {}) {
    const [misspelt] = Object.keys(unknown)
    if (misspelt !== undefined) {
      throw new UnderstudyError('notStarted', `start has no option ${JSON.stringify(misspelt)}: expected binary, seed, controlToken, arguments or environment`)
    }
    const files = await SeedFiles.of(seed)
    const options = ['serve', '--port', '0', '--smtp-port', '0', ...files.paths.flatMap(path => ['--seed', path]), ...others]
    const variables = { ...process.env, ...environment, ...(controlToken ? { UNDERSTUDY_CONTROL_TOKEN: controlToken } : {}) }
    try { return await new Daemon(binary, options, variables).#started } finally { await files.remove() }
  }

  #started

  constructor(binary, options, variables) {
    // The shell has a session of its own, so that Ctrl-C ends only this process. The shell then ends the daemon.
    this.#process = spawn('/bin/sh', ['-c', watched, binary, ...options], { env: variables, detached: true, stdio: 'pipe' })
    this.#process.stdin.on('error', () => {})
    this.#process.stderr.setEncoding('utf8').on('data', text => { this.#log = (this.#log + text).slice(-logLimit) })
    this.#started = this.#addresses(binary)
  }

  /// The end of the daemon's log.
  get log() { return this.#log }

  async #addresses(binary) {
    const lines = createInterface({ input: this.#process.stdout })
    for await (const line of lines) {
      const url = /^understudy listening on (http:\S+)$/.exec(line)?.[1]
      if (!url) continue
      this.url = url
      // These handles must not keep this process from ending.
      for (const handle of [this.#process, this.#process.stdin, this.#process.stdout, this.#process.stderr]) handle.unref()
      this.#process.stdout.resume()
      return this
    }
    await this.stop()
    const hint = /not found|No such file/.test(this.#log) ? `\nInstall it, or name it in "binary" or UNDERSTUDY_BINARY.` : ''
    throw new UnderstudyError('notStarted', `${binary} did not start: ${this.#log.trim() || 'it said nothing.'}${hint}`)
  }

  /// Ends the daemon, and waits until it has ended.
  async stop() {
    const child = this.#process
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise(resolve => child.once('close', resolve))
    for (const handle of [child, child.stdout, child.stderr]) handle.ref()
    child.stdin.end()
    await ended
  }
}

/// Seeds as files. Seeds that are values are written to a folder, which is removed when the daemon has read them.
class SeedFiles {
  static async of(seed) {
    const files = new SeedFiles()
    files.paths = []
    for (const one of seed === undefined ? [] : [seed].flat()) {
      if (typeof one === 'string') {
        files.paths.push(one)
        continue
      }
      files.folder ??= await mkdtemp(join(tmpdir(), 'understudy-'))
      const path = join(files.folder, `seed-${files.paths.length + 1}.json`)
      await writeFile(path, JSON.stringify(one), { mode: 0o600 })
      files.paths.push(path)
    }
    return files
  }

  async remove() { if (this.folder) await rm(this.folder, { recursive: true, force: true }) }
}
