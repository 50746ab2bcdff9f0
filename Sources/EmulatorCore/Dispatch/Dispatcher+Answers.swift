import HTTPServer
import Logging
import Time

// Answers before they are sent: they are recorded and logged.

extension Dispatcher {
    /// Returns the answer to a request whose handler has thrown an error.
    @Sendable func refusal(of error: any Error) -> Response {
        switch error {
        case let failure as StoreFailure:
            worlds.budget.notices.tell(.stores, failure.diagnosis.line)
            return failure.response
        case let error as any AnswerableError: return error.response
        case let refusal as NamedWorld.Refusal: return noWorld(refusal)
        default:
            logger.error("\(error)")
            return Dispatcher.defect
        }
    }

    /// Adds the request's ID to the answer, and records and logs the exchange.
    func complete(
        _ response: Response, _ context: RequestContext, _ fault: AppliedFault?, client: String?
    ) -> Response {
        let time = context.world.now
        var response = response
        if let fault, fault.isUsed, response.header(Diagnosis.headerName) == nil {
            // A late answer, or a token that a fault changed, isn't a refusal.
            response =
                response.isRefusal ? response.diagnosed(fault.diagnosis) : response.noted(Note(fault.diagnosis))
        }
        response = identified(response, context.request, at: context.address, id: context.id)
        context.world.recording.add(
            RecordedExchange(
                id: context.id, parent: context.parent, world: context.world.name, host: context.address.host,
                path: context.address.path, client: client,
                request: controlToken?.withheld(from: context.request) ?? context.request, response: response,
                time: time, began: context.began,
                duration: MachineClock.microseconds - context.began,
                fault: fault.flatMap { $0.isUsed ? $0.summary : nil }))
        return response
    }

    func identified(_ response: Response, _ request: Request, at address: Address, id: String) -> Response {
        var response = response
        response.headers.append((name: Dispatcher.requestHeader, value: id))
        if request.header("Origin") != nil { Dispatcher.expose(in: &response) }
        if response.header(Diagnosis.headerName) != nil,
            response.header("Content-Type")?.hasPrefix("text/html") ?? false
        {
            response.body = Page.linked(response.body, base: address.ownBase, id: id)
        }
        let diagnosis = response.header(Diagnosis.headerName) ?? response.header(Note.headerName)
        if diagnosis != nil || logger.logLevel <= .debug {
            // Queries and bodies have codes and secrets, so only the path is logged.
            var metadata: Logger.Metadata = [
                "request": "\(id)", "status": "\(response.status)", "method": "\(request.method)",
                "path": "\(Diagnosis.visible("\(address.host ?? "")\(address.path)"))",
            ]
            if address.world != worlds.unnamed { metadata["world"] = "\(address.world)" }
            if let diagnosis {
                logger.info("\(diagnosis)", metadata: metadata)
            } else {
                logger.debug("answered", metadata: metadata)
            }
        }
        return response
    }
}

extension Response {
    /// Whether the response is an error by its status, or incomplete.
    fileprivate var isRefusal: Bool {
        switch delivery {
        case .dropped, .cut: true
        case .whole, .stream: status >= 400
        }
    }
}
