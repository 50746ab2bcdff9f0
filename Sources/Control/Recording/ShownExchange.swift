import EmulatorCore
import HTTPServer

/// What pages show of recorded exchanges, with secrets masked where they are to be.
extension ControlAPI {
    /// Why it was refused; `nil` when it wasn't.
    package func shownDiagnosis(of known: KnownExchange) -> String? {
        guard masksSecrets else { return known.exchange.diagnosis }
        return ExchangeDocument(known, masksSecrets: true).diagnosis
    }

    /// The path, without the query.
    package func shownPath(of known: KnownExchange) -> String {
        guard masksSecrets else { return known.exchange.path }
        return Mask(known.exchange).apply(toEncoded: known.exchange.path)
    }

    /// All of these exchanges as one HAR file; `GET requests` gives them page by page.
    package func archive(of known: [KnownExchange]) -> Response {
        let documents = known.map { ExchangeDocument($0, masksSecrets: masksSecrets) }
        return ControlAnswer.ok(ExchangeDocument.har(documents, version: version, goesOnAfter: nil))
    }
}
