import EmulatorCore
import HTTPServer
import OAuth

// GET https://avatars.githubusercontent.com/u/ID: the picture at `avatar_url`.

extension GitHubProvider {
    static func avatar(_ exchange: Exchange) -> Response {
        guard let id = UInt32(exchange.parameters["id"] ?? "") else {
            return Response(status: 404, contentType: "text/plain", body: "Not Found")
                .diagnosed(Diagnosis("the address of a picture ends with a person's number"))
        }
        return Avatar.response(of: "avatar:\(id)")
    }
}
