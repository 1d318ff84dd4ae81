import Foundation

/// Makes a folder for temporary files that no other user can read.
///
/// The caller removes it.
///
/// - Parameter purpose: The first part of the folder's name.
package func makePrivateFolder(for purpose: String) throws -> URL {
  let folder = FileManager.default.temporaryDirectory
    .appendingPathComponent("\(purpose)-\(UUID().uuidString)")
  try FileManager.default.createDirectory(
    at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  return folder
}
