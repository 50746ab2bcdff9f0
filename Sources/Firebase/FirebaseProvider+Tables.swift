import EmulatorCore

extension FirebaseProvider {
    package static var rows: [any Row.Type] {
        UserPool.rowTypes + [
            Session.self, EndedSession.self, ProjectSettings.self, TakenOnTrust.self, Tenant.self, DeletedTenant.self,
            PopulatedProject.self,
            UnseededPool.self,
        ]
    }
}
