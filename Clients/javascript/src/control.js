import { errorOf, UnderstudyError, unexpected } from './errors.js'

/// Milliseconds that an answer may take, beside what a call waits for on purpose.
export const limits = { answer: 60_000 }

/// The control API at one address: the daemon's, or a world's.
export class Control {
  constructor(url, token) {
    this.url = url
    this.token = token
  }

  /// The answer's value: a JSON object, or `undefined` where there is none.
  async call(method, path, { query, body } = {}) {
    const text = await this.text(method, path, { query, body: body === undefined ? undefined : JSON.stringify(body) })
    if (text === '') return undefined
    let value
    try { value = JSON.parse(text) } catch { /* Not the daemon's. */ }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unexpected(this.url, 200, text)
    return value
  }

  /// The same with texts.
  text(method, path, { query, body } = {}) { return this.#send(method, path, { query, body }, answer => answer.text()) }

  async bytes(method, path, { query } = {}) {
    return new Uint8Array(await this.#send(method, path, { query }, answer => answer.arrayBuffer()))
  }

  async #send(method, path, { query, body }, read) {
    const url = new URL(path === '' ? this.url : `${this.url}/${path}`)
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value))
    }
    const headers = {}
    if (this.token) headers.authorization = `Bearer ${this.token}`
    if (body !== undefined) headers['content-type'] = 'application/json'
    const patience = limits.answer + milliseconds(query?.wait)
    let answer, content
    try {
      // The daemon redirects nobody. What else answers there doesn't get this request sent elsewhere.
      answer = await fetch(url, { method, headers, body, redirect: 'manual', signal: AbortSignal.timeout(patience) })
      content = await (answer.ok ? read(answer) : answer.text())
    } catch (error) {
      const reason = error.name === 'TimeoutError' ? `no whole answer in ${patience / 1000} seconds`
        : error.cause?.message || error.cause?.code || error.message
      throw new UnderstudyError(
        'unreachable', `no Understudy answers at ${url.origin}: ${reason}. Is it started, and UNDERSTUDY_URL right?`,
        { cause: error, call: `${method} ${path}` })
    }
    if (!answer.ok) throw errorOf(answer.status, content, this.url, `${method} ${path}`)
    return content
  }
}

/// All pages of a list. `limit` is how many elements at most, over all pages.
export async function pages(control, path, member, query) {
  const found = []
  let { limit, ...next } = query
  for (;;) {
    const answer = await control.call('GET', path, { query: { ...next, limit } })
    if (!Array.isArray(answer?.[member])) throw unexpected(control.url, 200, JSON.stringify(answer) ?? '')
    found.push(...answer[member])
    if (limit !== undefined) limit -= answer[member].length
    if (!answer.more || limit <= 0) return found
    // What was waited for has come.
    const { wait, count, ...rest } = next
    next = { ...rest, after: answer.last }
  }
}

/// A duration as the daemon reads it; 0 for what it refuses.
function milliseconds(duration = '') {
  const [, count, unit] = /^(\d+)(ms|s|m)$/.exec(duration) ?? []
  return count === undefined ? 0 : count * { ms: 1, s: 1000, m: 60_000 }[unit]
}
