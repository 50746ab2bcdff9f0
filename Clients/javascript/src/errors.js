// These are the errors that calls throw. The daemon writes their messages.

export class UnderstudyError extends Error {
  constructor(code, message, { path, status, answer, cause, call } = {}) {
    super(path && path !== '$' ? `${path}: ${message}` : message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
    this.path = path
    this.status = status
    this.call = call
    Object.defineProperty(this, 'answer', { value: answer })
  }
}

/// https://developer.apple.com/documentation/authenticationservices/asauthorizationerror-swift.struct/code
export class AppleAuthorizationError extends UnderstudyError {
  static unknown = 1000
  static canceled = 1001
  static invalidResponse = 1002
  static notHandled = 1003
  static failed = 1004
  static notInteractive = 1005

  constructor(code, codeName, message, { domain, ...details } = {}) {
    super(code, message, details)
    this.codeName = codeName
    this.domain = domain
  }
}

export class VerificationError extends UnderstudyError {
  constructor(message, expectations) {
    super('unmet', message, { status: 409, call: 'POST verify' })
    this.expectations = expectations
  }
}

/// The number of characters that an error shows of an answer that isn't the daemon's.
const shown = 500

/// Returns the error for an answer that doesn't come from Understudy.
export function unexpected(url, status, text, call) {
  const { origin } = new URL(url)
  const words = text.trim() === '' ? 'an empty answer' : text.trim().slice(0, shown)
  return new UnderstudyError('unexpectedAnswer', `what answers at ${origin} isn't Understudy: status ${status}, ${words}`, { status, call })
}

/// Returns the error that an answer of the control API describes.
export function errorOf(status, text, url, call) {
  let answer
  try { answer = JSON.parse(text) } catch { /* Not the daemon's: something between has answered. */ }
  const { code, message, name, domain, path, faults = [] } = answer?.error ?? {}
  if (code === undefined || !Array.isArray(faults)) return unexpected(url, status, text, call)
  if (domain !== undefined) return new AppleAuthorizationError(code, name, message, { domain, status, answer, call })
  // The first of the faults is the error itself.
  const others = faults.slice(1).map(fault => `\n${fault.path}: ${fault.message}`)
  return new UnderstudyError(code, message + others.join(''), { path, status, answer, call })
}
