import { errorOf, UnderstudyError, unexpected } from './errors.js'

/// The time limit for an answer in milliseconds. The time that a call asks the daemon to wait is added.
export const limits = { answer: 60_000 }

/// The control API at one address: the daemon's, or a world's.
export class Control {
  constructor(url, token) {
    this.url = url
    this.token = token
  }

  /// Sends a call. Returns its answer, a JSON object, or `undefined` if the answer is empty.
  async call(method, path, { query, body } = {}) {
    const text = await this.text(method, path, { query, body: body === undefined ? undefined : JSON.stringify(body) })
    if (text === '') return undefined
    let value
    try { value = JSON.parse(text) } catch { /* Not the daemon's. */ }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unexpected(this.url, 200, text)
    return value
  }

  /// Sends a call whose body and answer are texts.
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
      // No redirect is followed: the daemon sends none, and another server could use one to get the control token.
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

/// Returns the elements of all pages of a list. `limit` is the maximum number of elements, over all pages.
export async function pages(control, path, member, query) {
  const found = []
  let { limit, ...next } = query
  for (;;) {
    const answer = await control.call('GET', path, { query: { ...next, limit } })
    if (!Array.isArray(answer?.[member])) throw unexpected(control.url, 200, JSON.stringify(answer) ?? '')
    found.push(...answer[member])
    if (limit !== undefined) limit -= answer[member].length
    if (!answer.more || limit <= 0) return found
    // The first page has waited, so the others don't wait.
    const { wait, count, ...rest } = next
    next = { ...rest, after: answer.last }
  }
}

/// Returns the milliseconds of a duration, or 0 if it is invalid, in which case the daemon will refuse it.
function milliseconds(duration = '') {
  const [, count, unit] = /^(\d+)(ms|s|m)$/.exec(duration) ?? []
  return count === undefined ? 0 : count * { ms: 1, s: 1000, m: 60_000 }[unit]
}
