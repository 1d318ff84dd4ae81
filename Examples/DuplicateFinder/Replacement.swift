import ExampleSupport
import Foundation

/// Removes one name of a file, or replaces it by a link to another file.
///
///   remove:  NAME ─ rename ─▶ TEMPORARY ─ is it the file? is the first there? ─▶ unlink
///   link:    FIRST ─ link ─▶ TEMPORARY ─ is it the first? ─▶ exchange with NAME
///            ─ is TEMPORARY the file now? ─▶ unlink TEMPORARY
///
/// So the name that is unlinked at the end is unknown to other programs, and the file was
/// checked under that name. If the program is killed between two steps, the temporary
/// name is left. The content has at least one name at any time.
struct Replacement {
  /// A step that has just been done.
  enum Step: Hashable, Sendable {
    case setAside(Path), linked(Path), exchanged(Path)
  }

  private let name: Path
  private let file: File
  private let first: File
  private let temporary: Path
  private let onStep: @Sendable (Step) -> Void

  init(
    of name: Path, _ file: File, by first: File, onStep: @escaping @Sendable (Step) -> Void
  ) {
    self.name = name
    self.file = file
    self.first = first
    self.onStep = onStep
    let number = UInt64.random(in: .min ... .max)
    temporary = name.parentAndName.parent
      .appending(Array((Path.leftoverPrefix + String(number, radix: 36)).utf8))
  }

  /// Removes the name.
  func remove() throws(Problem) {
    try assertIsFile(name)
    do throws(SystemError) {
      try rename(name, to: temporary)
    } catch {
      throw Problem(name, .refused, "cannot be removed: \(error)")
    }
    onStep(.setAside(temporary))
    do throws(Problem) {
      try assertIsFile(temporary)
      // The first file may be the same file under another name, for example in a folder
      // that is mounted twice.
      try assertIsFirst(first.path)
      try unlinkTemporary()
    } catch {
      try putBack()
      throw error
    }
  }

  /// Replaces the name by a hard link to the first file.
  func link() throws(Problem) {
    do throws(SystemError) {
      try link(first.path, as: temporary)
    } catch {
      throw Problem(name, .refused, "cannot be linked: \(error)")
    }
    onStep(.linked(temporary))
    do throws(Problem) {
      try assertIsFirst(temporary)
      try assertIsFile(name)
    } catch {
      try? unlinkTemporary()
      throw error
    }
    do throws(SystemError) {
      guard try exchange(temporary, with: name) else {
        // This file system cannot exchange names. If another file has just taken the
        // name, it is lost.
        return try rename(temporary, to: name)
      }
    } catch {
      try? unlinkTemporary()
      throw Problem(name, .refused, "cannot be linked: \(error)")
    }
    onStep(.exchanged(temporary))
    do throws(Problem) {
      try assertIsFile(temporary)
      try unlinkTemporary()
    } catch {
      // Exchange the names back. If that fails, both are kept.
      guard (try? exchange(temporary, with: name)) == true else { throw keptAside(error) }
      if (try? assertIsFirst(temporary)) != nil { try? unlinkTemporary() }
      throw error
    }
  }

  /// Gives the file its name back, unless another file has taken it.
  private func putBack() throws(Problem) {
    do throws(SystemError) {
      try link(temporary, as: name)
    } catch {
      // The file system has no hard links, or another file has taken the name.
      let isFree = (try? FileStatus(of: name)) == nil
      guard isFree, (try? rename(temporary, to: name)) != nil else {
        throw keptAside(Problem(changed: file.path))
      }
      return
    }
    try? unlinkTemporary()
  }

  private func keptAside(_ problem: Problem) -> Problem {
    Problem(name, problem.kind, "\(problem.message); it is called \(temporary) now")
  }

  private func unlinkTemporary() throws(Problem) {
    do throws(SystemError) {
      try systemCall { temporary.withCString { unlink($0) } }
    } catch {
      throw Problem(name, .refused, "cannot be removed: \(error)")
    }
  }

  // MARK: Checks

  private func assertIsFile(_ path: Path) throws(Problem) {
    try assert(path, is: file.status, elseReport: name)
  }

  private func assertIsFirst(_ path: Path) throws(Problem) {
    try assert(path, is: first.status, elseReport: first.path)
  }

  private func assert(
    _ path: Path, is status: FileStatus, elseReport reported: Path
  ) throws(Problem) {
    do throws(SystemError) {
      guard try FileStatus(of: path) == status else { throw SystemError(code: ELOOP) }
    } catch {
      throw Problem(seenBefore: reported, error)
    }
  }

  // MARK: System calls

  private func rename(_ old: Path, to new: Path) throws(SystemError) {
    try systemCall { old.withCString { a in new.withCString { Foundation.rename(a, $0) } } }
  }

  private func link(_ old: Path, as new: Path) throws(SystemError) {
    // Does not follow a symbolic link that may have replaced the file.
    try systemCall {
      old.withCString { a in new.withCString { linkat(AT_FDCWD, a, AT_FDCWD, $0, 0) } }
    }
  }

  /// Exchanges the files of two names in one step; returns `false` if the system cannot.
  private func exchange(_ a: Path, with b: Path) throws(SystemError) -> Bool {
    guard let call = Self.exchangeCall else { return false }
    do throws(SystemError) {
      try systemCall { a.withCString { a in b.withCString { call(a, $0) } } }
      return true
    } catch {
      if [EINVAL, ENOSYS, ENOTSUP].contains(error.code) { return false }
      throw error
    }
  }

  #if canImport(Darwin)
    private static let exchangeCall:
      (@Sendable (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32)? = {
        renamex_np($0, $1, UInt32(RENAME_SWAP))
      }
  #else
    /// Looked up by name: Foundation does not declare it, and old systems do not have it.
    private static let exchangeCall:
      (@Sendable (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Int32)? = {
        typealias Call =
          @convention(c) (
            Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32
          ) -> Int32
        guard let address = dlsym(nil, "renameat2") else { return nil }
        let call = unsafeBitCast(address, to: Call.self)
        let exchange: UInt32 = 2
        return { call(AT_FDCWD, $0, AT_FDCWD, $1, exchange) }
      }()
  #endif
}

extension Path {
  /// The beginning of temporary names.
  static let leftoverPrefix = ".DuplicateFinder-"

  /// Whether the file is a leftover of a killed run.
  var isLeftover: Bool { name.starts(with: Self.leftoverPrefix.utf8) }
}
