import EmulatorCore
import HTTPServer

/// Parts of recorded exchanges for pages, with secrets masked if they are to be.
extension ControlAPI {
    /// Returns the diagnosis; `nil` if the exchange wasn't refused.
    package func shownDiagnosis(of known: KnownExchange) -> String? {
        guard masksSecrets else { return known.exchange.diagnosis }
        return ExchangeDocument(known, masksSecrets: true).diagnosis
    }

    /// Returns the path, without the query.
    package func shownPath(of known: KnownExchange) -> String {
        guard masksSecrets else { return known.exchange.path }
        return Mask(known.exchange).apply(toEncoded: known.exchange.path)
    }

    /// Returns all of these exchanges as one HAR file; `GET requests` gives them page by page.
    package func archive(of known: [KnownExchange]) -> Response {
        let documents = known.map { ExchangeDocument($0, masksSecrets: masksSecrets) }
        return ControlAnswer.ok(ExchangeDocument.har(documents, version: version, goesOnAfter: nil))
    }
}
