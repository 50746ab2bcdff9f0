import { after } from 'node:test'

import { Understudy } from '@understudy/client'

/// A daemon for the tests of a file.
export async function daemon(options) {
  const understudy = await Understudy.start(options)
  after(() => understudy.stop())
  return understudy
}

export const callback = 'http://localhost:3000/callback'

/// The address at which a web app begins a sign-in with GitHub.
export const authorizeURL = world => `${world.hostURL('github.com')}/login/oauth/authorize?` + new URLSearchParams({
  client_id: 'Iv1.0123456789abcdef', redirect_uri: callback, state: 's' })
