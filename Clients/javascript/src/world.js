import { Accounts } from './accounts.js'
import { isWorldName } from './address.js'
import { Clock } from './clock.js'
import { Control, pages } from './control.js'
import { duration } from './duration.js'
import { environment } from './environment.js'
import { UnderstudyError } from './errors.js'
import { Inbox } from './inbox.js'
import { Orders } from './orders.js'
import { follow } from './person.js'
import { Apple, Facebook, GitHub, Google, Microsoft, OpenID } from './providers.js'
import { archive, verified } from './recording.js'
import { Scenarios } from './scenarios.js'
import { Tokens } from './tokens.js'
import { worldName } from './world-name.js'

const scripts = /^https:\/\/(accounts\.google\.com\/gsi\/client|appleid\.cdn-apple\.com\/|connect\.facebook\.net\/)/

export class World {
  #control
  /// The control API of the daemon.
  #parent
  #inbox
  #orders

  constructor(understudy, name) {
    this.daemon = understudy
    this.isDefault = name === undefined
    this.name = this.isDefault ? understudy.defaultWorld ?? 'default' : isWorldName(name) ? name : worldName(name)
    this.url = this.name === 'default' ? understudy.url : `${understudy.url}/~${this.name}`
    this.controlURL = `${this.url}/_understudy/v1`
    this.#control = new Control(this.controlURL, understudy.controlToken)
    this.#parent = new Control(`${understudy.url}/_understudy/v1`, understudy.controlToken)
    this.#inbox = new Inbox(this.#control)
    this.#orders = new Orders(this.#control)
    this.clock = new Clock(this.#control)
    this.accounts = new Accounts(this.#control)
    this.scenarios = new Scenarios(this.#control)
    this.tokens = new Tokens(this.#control)
    this.apple = new Apple(this.#control)
    this.google = new Google(this.#control)
    this.facebook = new Facebook(this.#control)
    this.microsoft = new Microsoft(this.#control)
    this.github = new GitHub(this.#control)
    this.openID = new OpenID(this.#control)
  }

  hostURL(host) { return `${this.url}/${host}` }

  /// Makes a page of Playwright load the providers' scripts from this world.
  async routeScripts(page) {
    await page.route(scripts, async route => {
      const url = `${this.url}/${route.request().url().slice('https://'.length)}`
      await route.fulfill({ response: await route.fetch({ url }) })
    })
  }

  /// Sends any call of the control API.
  call(method, path, body) { return this.#control.call(method, path, { body }) }

  // MARK: Orders

  order(provider, outcome, details) { return this.#orders.order(provider, outcome, details) }
  fault(order) { return this.#orders.fault(order) }
  async endpoints() { return (await this.#control.call('GET', 'endpoints')).endpoints }
  outcomes() { return this.#orders.list('outcomes') }
  faults() { return this.#orders.list('faults') }
  removeOutcomes() { return this.#orders.removeAll('outcomes') }
  removeFaults() { return this.#orders.removeAll('faults') }

  /// Follows a sign-in as a browser does: redirects, cookies and posted answers.
  follow(url) { return follow(url, this) }

  // MARK: Recording

  requests({ wait, ...filter } = {}) {
    return pages(this.#control, 'requests', 'requests', { ...filter, wait: duration(wait) })
  }

  request(id) { return this.#control.call('GET', `requests/${encodeURIComponent(id)}`) }

  signIns({ wait, ...filter } = {}) { return pages(this.#control, 'flows', 'flows', { ...filter, wait: duration(wait) }) }

  signIn(id) { return this.#control.call('GET', `flows/${encodeURIComponent(id)}`) }

  async forgetRequests() { await this.#control.call('DELETE', 'requests') }

  har() { return archive(this.#control) }

  verify(expected) { return verified(this, this.#control, expected) }

  refusals() { return this.requests({ refused: true }) }

  explain(value, { rawNonce } = {}) { return this.#control.call('POST', 'explain', { body: { value, rawNonce } }) }

  // MARK: Mail

  mail(filter) { return this.#inbox.list(filter) }
  message(id) { return this.#inbox.message(id) }
  rawMail(id, options) { return this.#inbox.raw(id, options) }
  attachment(id, number) { return this.#inbox.attachment(id, number) }
  sendMail(mail) { return this.#inbox.send(mail) }
  reply(id, answer) { return this.#inbox.reply(id, answer) }
  deleteMail(id) { return this.#inbox.delete(id) }

  // MARK: Seed and state

  async seed(seed) { await this.#control.call('POST', 'seed', { body: seed }) }
  async replaceSeed(seed) { await this.#control.call('PUT', 'seed', { body: seed }) }
  currentSeed() { return this.#control.call('GET', 'seed') }

  /// Returns the snapshot as a text, since it has numbers that are too large for JavaScript.
  snapshot() { return this.#control.text('GET', 'snapshot') }
  async restore(snapshot) { await this.#control.text('PUT', 'snapshot', { body: snapshot }) }

  async reset() { await this.#control.call('POST', 'reset') }

  async delete() {
    if (this.isDefault) return this.reset()
    try { await this.#parent.call('DELETE', `worlds/${encodeURIComponent(this.name)}`) } catch (error) {
      if (error.code !== 'noSuchWorld') throw error
    }
  }

  async [Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')]() { await this.delete() }

  firebaseExport(project) { return this.#control.bytes('GET', 'firebase/export', { query: { project } }) }

  // MARK: Ports

  /// Opens the world's own port, and returns the world with it.
  async #listening(member) {
    // At a world's own port, requests that name no world belong to that world.
    const name = this.url === this.daemon.url ? (await this.#control.call('GET', '')).world : this.name
    return this.#parent.call('POST', 'worlds', { body: { name, [member]: 0 } })
  }

  /// Returns the address of the world's own port.
  async portURL() { return this.url === this.daemon.url ? this.url : (await this.#listening('listen')).url }

  async firebaseEmulatorHost() { return new URL(await this.portURL()).host }

  async smtp() {
    const [, host, port] = /^(.*):(\d+)$/.exec((await this.#listening('smtp')).smtp) ?? []
    if (host === undefined) throw new UnderstudyError('noSMTP', 'the world has no port for mail')
    return { host, port: Number(port) }
  }

  async environment() {
    let mail
    try { mail = await this.smtp() } catch (error) { if (error.code !== 'noSMTP') throw error }
    return environment(this, await this.firebaseEmulatorHost(), mail)
  }
}
