import HTTPServer
import JSON
import EmulatorCore

// Quirks: teams are visible only to members of their organization; others get "not found". A team is found by its
// organization's login and its slug, by both numbers (the form of the URLs in answers), or by its own number alone,
// which is older and still used by sign-in libraries.

extension GitHubProvider {
    private static let access = RESTEndpoint.Access.person(
        scopes: RESTCall.organizationScopes, permission: "members", refusal: .notFound)

    static let teamEndpoints: [RESTEndpoint] =
        [
            RESTEndpoint("GET", "/user/teams", "teams/teams#list-teams-for-the-authenticated-user", access) { call in
                guard let account = call.viewer.account else {
                    return call.notFound(because: "no user is signed in: send a user's access token")
                }
                let teams = call.visibleOrganizations().shown.flatMap { organization in
                    organization.teams(of: account.id).map { team -> JSONValue in
                        .object(OrganizationDocument(organization, call.base).fullTeam(team))
                    }
                }
                return call.list(teams)
            },
            RESTEndpoint("GET", "/orgs/:org/teams", "teams/teams#list-teams", access) { call in
                findForMembers(call) { organization in
                    let teams = organization.teams.filter { isVisible($0, in: organization, to: call) }
                    return call.list(teams.map { .object(OrganizationDocument(organization, call.base).team($0)) })
                }
            },
        ] + teamAddresses.flatMap { teamEndpoints(at: $0, find: $1) }

    private typealias TeamAnswer = (GitHubSection.Organization, GitHubSection.Team) -> RESTAnswer
    private typealias TeamFinder = @Sendable (RESTCall, TeamAnswer) -> RESTAnswer

    private static let teamAddresses: [(path: String, find: TeamFinder)] = [
        (path: "/orgs/:org/teams/:slug", find: { findTeam($0, $1) }),
        (path: "/organizations/:org_id/team/:id", find: { findTeamByID($0, $1) }),
        (path: "/teams/:id", find: { findTeamByID($0, $1) }),
    ]

    private static func teamEndpoints(at path: String, find: @escaping TeamFinder) -> [RESTEndpoint] {
        let legacy = path == "/teams/:id" ? "-legacy" : ""
        return [
            RESTEndpoint("GET", path, "teams/teams#get-a-team-\(legacy.isEmpty ? "by-name" : "legacy")", access) {
                call in
                find(call) { .ok(OrganizationDocument($0, call.base).fullTeam($1)) }
            },
            RESTEndpoint("GET", "\(path)/members", "teams/members#list-team-members\(legacy)", access) { call in
                find(call) { members(of: $1, call) }
            },
            RESTEndpoint(
                "GET", "\(path)/members/:login", "teams/members#get-team-member-legacy", access, isEmpty: true,
                source: legacy.isEmpty
                    ? .chosen("GitHub documents this check only below /teams/ID; here, each address of a team has it")
                    : nil
            ) { call in
                find(call) { _, team in
                    let account = call.account(login: call.parameter("login"))
                    return account.flatMap { team.role(of: $0.id) } != nil
                        ? .noContent : call.notFound(because: "no user with this login is in the team")
                }
            },
            RESTEndpoint(
                "GET", "\(path)/memberships/:login",
                "teams/members#get-team-membership-for-a-user\(legacy)", access
            ) { call in
                find(call) { teamMembership(in: $1, of: $0, call) }
            },
        ]
    }

    // MARK: -

    private static func isVisible(
        _ team: GitHubSection.Team, in organization: GitHubSection.Organization, to call: RESTCall
    ) -> Bool {
        guard let account = call.viewer.account else { return false }
        return team.privacy == "closed" || team.role(of: account.id) != nil
            || Membership(organization).role(of: account) == "admin"
    }

    private static func findForMembers(
        _ call: RESTCall, _ answer: (GitHubSection.Organization) -> RESTAnswer
    ) -> RESTAnswer {
        find(call, isRestricted: true) { organization in
            guard Membership(organization).isMember(call.viewer.account) else {
                return call.notFound(
                    because: "only members of the organization \"\(organization.login)\" can see its teams")
            }
            return answer(organization)
        }
    }

    private static func findTeam(
        _ call: RESTCall, _ answer: (GitHubSection.Organization, GitHubSection.Team) -> RESTAnswer
    ) -> RESTAnswer {
        findForMembers(call) { organization in
            let slug = call.parameter("slug").lowercased()
            guard let team = organization.team(slug: slug), isVisible(team, in: organization, to: call)
            else {
                let known = organization.teams.prefix(Spelling.limit).map(\.slug)
                return call.notFound(
                    because:
                        "the organization \"\(organization.login)\" has no team \(Diagnosis.quote(slug)) that this user can see"
                        + Spelling.hint(slug, among: known))
            }
            return answer(organization, team)
        }
    }

    private static func findTeamByID(
        _ call: RESTCall, _ answer: (GitHubSection.Organization, GitHubSection.Team) -> RESTAnswer
    ) -> RESTAnswer {
        let unknown = "there is no team \(Diagnosis.quote(call.parameter("id"))) that this person sees"
        let organizationID = call.parameter("org_id")
        guard let id = Int(call.parameter("id")), organizationID.isEmpty || Int(organizationID) != nil,
            let (organization, team) = call.directory.team(number: id, inOrganization: Int(organizationID))
        else { return call.notFound(because: unknown) }
        if let restriction = call.restriction(by: organization) { return restriction }
        guard Membership(organization).isMember(call.viewer.account), isVisible(team, in: organization, to: call)
        else { return call.notFound(because: unknown) }
        return answer(organization, team)
    }

    private static func members(of team: GitHubSection.Team, _ call: RESTCall) -> RESTAnswer {
        let accounts = call.exchange.world.read { tables in team.people.compactMap { tables.account($0) } }
        return call.list(
            accounts.map { .object(UserDocument($0, call.base).simple()) })
    }

    private static func teamMembership(
        in team: GitHubSection.Team, of organization: GitHubSection.Organization, _ call: RESTCall
    ) -> RESTAnswer {
        guard let account = call.account(login: call.parameter("login")), let role = team.role(of: account.id) else {
            return call.notFound(
                because:
                    "the user \(Diagnosis.quote(call.parameter("login"))) isn't in the team \"\(team.slug)\"")
        }
        let url =
            "\(call.base.api)/organizations/\(organization.id)/team/\(team.id)/memberships/\(account.github.login)"
        return .ok(["state": "active", "role": .string(role), "url": .string(url)] as JSONValue)
    }
}
