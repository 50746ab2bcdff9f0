import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { UnderstudyError } from './errors.js'

// The daemon ends when the shell's input does: by `stop`, and also when this process is killed. Its own input is nothing, and the
// shell keeps none of its outputs, so that their end is the daemon's.
const watched = '"$0" "$@" < /dev/null & daemon=$!; exec > /dev/null 2>&1; read -r line; kill "$daemon"; wait "$daemon"'

/// How much of the log is kept, in characters.
const logLimit = 64 << 10

/// A daemon that was started from here.
export class Daemon {
  #process
  #log = ''

  /// Resolves when it accepts connections; rejects with what it says when it doesn't start.
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
    // In a session of its own: what a terminal's keys end is this process, and the shell follows.
    this.#process = spawn('/bin/sh', ['-c', watched, binary, ...options], { env: variables, detached: true, stdio: 'pipe' })
    this.#process.stdin.on('error', () => {})
    this.#process.stderr.setEncoding('utf8').on('data', text => { this.#log = (this.#log + text).slice(-logLimit) })
    this.#started = this.#addresses(binary)
  }

  /// The last of what it has logged.
  get log() { return this.#log }

  async #addresses(binary) {
    const lines = createInterface({ input: this.#process.stdout })
    for await (const line of lines) {
      const url = /^understudy listening on (http:\S+)$/.exec(line)?.[1]
      if (!url) continue
      this.url = url
      // Nothing of it keeps this process from ending.
      for (const handle of [this.#process, this.#process.stdin, this.#process.stdout, this.#process.stderr]) handle.unref()
      this.#process.stdout.resume()
      return this
    }
    await this.stop()
    const hint = /not found|No such file/.test(this.#log) ? `\nInstall it, or name it in "binary" or UNDERSTUDY_BINARY.` : ''
    throw new UnderstudyError('notStarted', `${binary} did not start: ${this.#log.trim() || 'it said nothing.'}${hint}`)
  }

  /// Ends it, and waits until it has ended.
  async stop() {
    const child = this.#process
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise(resolve => child.once('close', resolve))
    for (const handle of [child, child.stdout, child.stderr]) handle.ref()
    child.stdin.end()
    await ended
  }
}

/// Seeds as files. Those that are values are written to a folder, which is removed once the daemon has read them.
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
