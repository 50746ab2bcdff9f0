import HTTPServer
import JSON

// Lists have pages of thirty elements, a hundred at most:
// https://docs.github.com/rest/using-the-rest-api/using-pagination-in-the-rest-api `Link` has the neighbouring pages,
// with `last` if there is a `next`.

extension RESTCall {
    func list(_ items: [JSONValue]) -> RESTAnswer {
        let page = page(of: items)
        var answer = RESTAnswer.ok(.array(page.items))
        answer.headers = page.headers
        return answer
    }

    /// Returns a list within an object that has the total count.
    func countedList(_ name: String, _ items: [JSONValue]) -> RESTAnswer {
        let page = page(of: items)
        let body = JSONObject([("total_count", .integer(Int64(items.count))), (name, .array(page.items))])
        var answer = RESTAnswer.ok(body)
        answer.headers = page.headers
        return answer
    }

    private func page(of items: [JSONValue]) -> (items: [JSONValue], headers: [(name: String, value: String)]) {
        let query = exchange.request.queryForm
        let size = min(100, max(1, query["per_page"].flatMap { Int($0) } ?? 30))
        let page = min(1_000_000, max(1, query["page"].flatMap { Int($0) } ?? 1))
        let start = min(items.count, (page - 1) * size)
        let shown = Array(items[start..<min(items.count, start + size)])
        let last = max(1, (items.count + size - 1) / size)
        guard last > 1 else { return (shown, []) }
        var links: [String] = []
        func add(_ number: Int, _ relation: String) {
            var form = Form(fields: query.fields.filter { $0.name != "page" })
            form.fields.append(Form.Field(name: "page", value: String(number)))
            links.append("<\(address)?\(form.encoded)>; rel=\"\(relation)\"")
        }
        if page > 1 { add(min(page - 1, last), "prev") }
        if page < last {
            add(page + 1, "next")
            add(last, "last")
        }
        if page > 1 { add(1, "first") }
        return (shown, [(name: "Link", value: links.joined(separator: ", "))])
    }

    /// The address of this request, without its query.
    private var address: String {
        let path = exchange.address.path
        return path.hasPrefix(GitHubProvider.enterprisePrefix) && base.api.hasSuffix(GitHubProvider.enterprisePrefix)
            ? base.html + path : base.api + path
    }
}
