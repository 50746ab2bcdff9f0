import HTTPServer
import EmulatorCore

// How many projects that no seed holds, and how many users, there may be: whoever can reach the daemon can make them.
// Production has quotas, too, and answers QUOTA_EXCEEDED with status 429, RESOURCE_EXHAUSTED.
// https://cloud.google.com/identity-platform/quotas
// https://cloud.google.com/apis/design/errors#handling_errors

extension FirebaseError {
    static func quotaExceeded(_ detail: String, _ diagnosis: Diagnosis) -> FirebaseError {
        var error = FirebaseError("QUOTA_EXCEEDED", detail, status: 429, diagnosis: diagnosis)
        error.statusName = "RESOURCE_EXHAUSTED"
        error.reason = "rateLimitExceeded"
        return error
    }
}

extension Exchange {
    /// Makes a project or tenant that no seed holds, unless it is there, or there are too many of them.
    func admit(_ project: Project, tenant: String? = nil) throws(FirebaseError) {
        guard tenant != nil || !project.isSeeded else { return }
        let allowance = world.budget.projects
        let key = FirebaseState.Key(project: project.id, tenant: tenant)
        guard !world.update({ $0[FirebaseState.self].admit(key, counting: allowance) }) else { return }
        world.budget.notices.tell(
            .projects,
            "there are \(allowance.count) Firebase projects that no seed holds, in all worlds: no more are made here")
        throw .quotaExceeded(
            "Exceeded the number of projects.",
            Diagnosis(
                received: "project \(Diagnosis.quote(project.id))",
                "no seed holds it, and of such projects and tenants a world has \(FirebaseState.unseededLimit) and all "
                    + "worlds together \(allowance.limit) at most: use fewer, reset the world, or seed them"))
    }
}

extension FirebaseCall {
    /// Makes sure that the world takes more users.
    func checkRoom(for count: Int = 1) throws(FirebaseError) {
        guard !exchange.world.update({ $0[FirebaseState.self].hasRoom(for: count) }) else { return }
        throw .quotaExceeded(
            "Exceeded the number of accounts.",
            Diagnosis("a world has \(FirebaseState.userLimit) users at most: delete some, or reset the world"))
    }
}
