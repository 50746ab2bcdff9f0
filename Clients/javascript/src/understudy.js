import { readFile } from 'node:fs/promises'

import { checkedToken, partsOf } from './address.js'
import { Control, pages } from './control.js'
import { Daemon } from './daemon.js'
import { unexpected } from './errors.js'
import { World } from './world.js'

const defaultURL = 'http://localhost:9099'

async function tokenOfEnvironment() {
  const { UNDERSTUDY_CONTROL_TOKEN: token, UNDERSTUDY_CONTROL_TOKEN_FILE: file } = process.env
  return (token || !file ? token : await readFile(file, 'utf8'))?.trim()
}

/// Finds the control token in options of `understudy serve`.
async function tokenAmong(options = []) {
  const given = name => {
    const at = options.findIndex(one => one === name || one.startsWith(`${name}=`))
    return at < 0 ? undefined : options[at] === name ? options[at + 1] : options[at].slice(name.length + 1)
  }
  const file = given('--control-token-file')
  return given('--control-token') ?? (file === undefined ? undefined : (await readFile(file, 'utf8')).trim())
}

export class Understudy {
  #daemon
  #control

  /// Starts a daemon on a free port.
  static async start(options = {}) {
    const daemon = await Daemon.start(options)
    try {
      const controlToken = options.controlToken ?? await tokenAmong(options.arguments) ?? options.environment?.UNDERSTUDY_CONTROL_TOKEN
      return await Understudy.#reach(daemon.url, { controlToken }, daemon)
    } catch (error) {
      await daemon.stop()
      throw error
    }
  }

  /// Connects to a daemon that runs.
  static connect(url, options = {}) {
    return Understudy.#reach(url || process.env.UNDERSTUDY_URL || defaultURL, options)
  }

  /// Connects to the daemon at UNDERSTUDY_URL, or starts a daemon if the variable isn't set.
  static startOrConnect(options = {}) {
    return process.env.UNDERSTUDY_URL ? Understudy.connect(undefined, options) : Understudy.start(options)
  }

  static async #reach(url, options, daemon) {
    // If the address names a world, that is the daemon's default world.
    const { base, world } = partsOf(url)
    const understudy = new Understudy(base, options.controlToken ?? await tokenOfEnvironment(), { daemon, world })
    understudy.version = (await understudy.health()).version
    return understudy
  }

  /// `start` and `connect` use this constructor. Tests call those functions.
  constructor(url, controlToken, { daemon, world } = {}) {
    this.url = url
    this.controlToken = checkedToken(controlToken)
    this.defaultWorld = world
    this.#daemon = daemon
    this.#control = new Control(`${url}/_understudy/v1`, this.controlToken)
  }

  get log() { return this.#daemon?.log ?? '' }

  world(name) { return new World(this, name) }

  async health() {
    const health = await this.#control.call('GET', 'health')
    if (health?.version === undefined) throw unexpected(this.url, 200, JSON.stringify(health) ?? '')
    return health
  }

  async worlds() { return (await this.#control.call('GET', 'worlds')).worlds }

  requests(filter = {}) { return pages(this.#control, 'requests', 'requests', { world: '*', ...filter }) }

  async forgetRequests(world = '*') { await this.#control.call('DELETE', 'requests', { query: { world } }) }

  async stop() { await this.#daemon?.stop() }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() { await this.stop() }
}
