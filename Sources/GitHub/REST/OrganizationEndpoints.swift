import HTTPServer
import JSON
import EmulatorCore

// https://docs.github.com/rest/orgs/orgs
//
// Quirks: organizations that restrict OAuth apps are missing in lists, and give 403 if requested directly.

extension GitHubProvider {
    private static let listRefusal = "You need at least read:org scope or user scope to list your organizations."

    static let organizationEndpoints: [RESTEndpoint] = [
        RESTEndpoint(
            "GET", "/user/orgs", "orgs/orgs#list-organizations-for-the-authenticated-user",
            .person(scopes: RESTCall.organizationScopes, permission: nil, refusal: .forbidden(listRefusal)),
            title: "their organizations"
        ) { call in
            let organizations = call.visibleOrganizations()
            let active = organizations.shown.filter { Membership($0).isMember(call.viewer.account) }
            return keepingBack(
                organizations.keptBack,
                in: call.list(active.map { .object(OrganizationDocument($0, call.base).simple()) }))
        },
        RESTEndpoint("GET", "/users/:login/orgs", "orgs/orgs#list-organizations-for-a-user") { call in
            guard let account = call.account(login: call.parameter("login")) else {
                return call.notFound(because: "nobody has the login \(Diagnosis.quote(call.parameter("login")))")
            }
            let shown = call.directory.organizations(of: account).filter { Membership($0).isPublicMember(account) }
            return call.list(shown.map { .object(OrganizationDocument($0, call.base).simple()) })
        },
        RESTEndpoint("GET", "/orgs/:org", "orgs/orgs#get-an-organization") { call in
            find(call) { organization in
                .ok(OrganizationDocument(organization, call.base).full(), lastModified: organization.updatedAt.text)
            }
        },
        // GitHub redirects to this path, with the number, if an organization has been renamed.
        RESTEndpoint("GET", "/organizations/:id", "orgs/orgs#get-an-organization") { call in
            guard let organization = Int(call.parameter("id")).flatMap({ call.directory.organization(number: $0) })
            else { return call.notFound(because: "no organization has this number") }
            return .ok(OrganizationDocument(organization, call.base).full(), lastModified: organization.updatedAt.text)
        },
    ]

    /// Returns the answer for the organization in the path. With `isRestricted`, its restrictions are checked.
    static func find(
        _ call: RESTCall, isRestricted: Bool = false, _ answer: (GitHubSection.Organization) -> RESTAnswer
    ) -> RESTAnswer {
        guard let organization = call.directory.organization(call.parameter("org")) else {
            let name = call.parameter("org")
            return call.notFound(
                because:
                    "no organization \(Diagnosis.quote(name)) is seeded\(call.directory.hint(forOrganization: name))")
        }
        if isRestricted, let restriction = call.restriction(by: organization) { return restriction }
        return answer(organization)
    }

    static func keepingBack(_ organizations: [GitHubSection.Organization], in answer: RESTAnswer)
        -> RESTAnswer
    {
        guard !organizations.isEmpty else { return answer }
        var answer = answer
        let ids = organizations.map { String($0.id) }.joined(separator: ",")
        answer.headers.append((name: "X-GitHub-SSO", value: "partial-results; organizations=\(ids)"))
        return answer
    }
}
