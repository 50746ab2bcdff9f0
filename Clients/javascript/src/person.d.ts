/** The end of a sign-in: the request that the browser makes to the app. */
export interface Callback {
  /** The request's method. It is `POST` if the provider posts its answer, as Apple does with `form_post`. */
  method: 'GET' | 'POST'
  /** The request's address, with its query. */
  url: string
  /** The address without scheme, host and fragment, for an app that runs at another address. */
  path: string
  /** The fields of the posted form. */
  form: Record<string, string>
  /** The provider's parameters (`code`, `state`, `error`…) from the query, the fragment and the form. */
  fields: Record<string, string>
}
