/** The end of a sign-in: the request that the browser makes to the app. */
export interface Callback {
  /** `POST` where the answer is posted, as Apple's `form_post` is. */
  method: 'GET' | 'POST'
  /** The address, with its query. */
  url: string
  /** The address without scheme, host and fragment, for an app that is asked elsewhere. */
  path: string
  /** The posted form. */
  form: Record<string, string>
  /** The provider's parameters, in the query, the fragment or the form: `code`, `state`, `error`… */
  fields: Record<string, string>
}
