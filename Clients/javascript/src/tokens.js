export class Tokens {
  #control
  constructor(control) { this.#control = control }

  mint(order) { return this.#control.call('POST', 'tokens', { body: order }) }
  revoke(token) { return this.#control.call('POST', 'tokens/revocations', { body: { token } }) }
}
