import { readFile } from 'node:fs/promises'

import { Control, pages } from './control.js'
import { Daemon } from './daemon.js'
import { World } from './world.js'

const defaultURL = 'http://localhost:9099'

async function tokenOfEnvironment() {
  const { UNDERSTUDY_CONTROL_TOKEN: token, UNDERSTUDY_CONTROL_TOKEN_FILE: file } = process.env
  return token || !file ? token : (await readFile(file, 'utf8')).trim()
}

export class Understudy {
  #daemon
  #control

  /// A daemon of one's own, on a free port.
  static async start(options = {}) {
    const daemon = await Daemon.start(options)
    const token = options.token ?? options.environment?.UNDERSTUDY_CONTROL_TOKEN
    try { return await Understudy.#reach(daemon.url, { token }, daemon) } catch (error) {
      await daemon.stop()
      throw error
    }
  }

  /// A daemon that runs.
  static connect(url, options = {}) {
    return Understudy.#reach(url || process.env.UNDERSTUDY_URL || defaultURL, options)
  }

  /// The daemon at UNDERSTUDY_URL; where the variable isn't set, one of one's own.
  static startOrConnect(options = {}) {
    return process.env.UNDERSTUDY_URL ? Understudy.connect(undefined, options) : Understudy.start(options)
  }

  static async #reach(url, options, daemon) {
    const token = options.token ?? await tokenOfEnvironment()
    // An address in a world leads to the daemon, whose unnamed world is that one.
    const [, base, world] = /^(.*?)(?:\/~([^/]+))?\/*$/.exec(url)
    const understudy = new Understudy(base, token, { daemon, world })
    const health = await understudy.#control.call('GET', 'health')
    understudy.version = health.version
    return understudy
  }

  /// Use `start` or `connect`.
  constructor(url, token, { daemon, world } = {}) {
    this.url = url
    this.token = token || undefined
    this.defaultWorld = world
    this.#daemon = daemon
    this.#control = new Control(`${url}/_understudy/v1`, this.token)
  }

  get log() { return this.#daemon?.log ?? '' }

  world(name) { return new World(this, name) }

  async worlds() { return (await this.#control.call('GET', 'worlds')).worlds }

  requests(filter = {}) { return pages(this.#control, 'requests', 'requests', { world: '*', ...filter }) }

  async stop() { await this.#daemon?.stop() }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() { await this.stop() }
}
