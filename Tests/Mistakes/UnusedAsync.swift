// An async closure that may throw runs, and no code gets its error.
// warning: result of call to 'async(priority:fileID:line:_:)' is unused
import Properations

private func save() async throws {}

private func mistake() {
  Promises.async { try await save() }
}
