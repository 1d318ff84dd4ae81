// The parts of Apple's C library that the package uses and that Linux lacks, or declares
// in another way. With this module, `canImport(Darwin)` is true. It is transcribed by hand,
// like `Foundation.swift` beside it. It leaves out differences in nullability, as in
// `pthread_key_create`.

@_exported import Glibc

private func interface() -> Never { fatalError("an interface without a body") }

/// "fcntl(2)": also asks the drive to write its cache.
public let F_FULLFSYNC: Int32 = 51

// MARK: Files

extension stat {
  /// "stat(2)": the times have other names.
  public var st_atimespec: timespec { interface() }
  public var st_mtimespec: timespec { interface() }
}

/// "renamex_np(2)"
public func renamex_np(
  _ old: UnsafePointer<CChar>!, _ new: UnsafePointer<CChar>!, _ flags: UInt32
) -> Int32 { interface() }
public var RENAME_SWAP: Int32 { interface() }

// MARK: Limits

/// "getrlimit(2)": numbers, not an enumeration.
public let RLIMIT_FSIZE: Int32 = 1
public let RLIMIT_NOFILE: Int32 = 8

// MARK: Terminals

public func grantpt(_ terminal: Int32) -> Int32 { interface() }
public func unlockpt(_ terminal: Int32) -> Int32 { interface() }
public func ptsname(_ terminal: Int32) -> UnsafeMutablePointer<CChar>! { interface() }

// MARK: Signals

extension sigaction {
  /// "sigaction(2)": the handler is in another union.
  public var __sigaction_u: Handlers { interface() }

  public struct Handlers {
    public var __sa_handler: (@convention(c) (Int32) -> Void)! { interface() }
  }
}

// MARK: "posix_spawn(2)": not on tvOS and watchOS

// `.ci/typecheck-apple` gives the sources these names: those of Linux would be ambiguous.
#if !PLATFORM_IS_watchOS
  public typealias apple_spawn_file_actions_t = UnsafeMutableRawPointer
  public typealias apple_spawnattr_t = UnsafeMutableRawPointer
  public typealias SpawnFiles = UnsafeMutablePointer<apple_spawn_file_actions_t?>
  public typealias SpawnAttributes = UnsafeMutablePointer<apple_spawnattr_t?>

  @discardableResult
  public func apple_spawn_file_actions_init(_ files: SpawnFiles!) -> Int32 { interface() }
  @discardableResult
  public func apple_spawn_file_actions_destroy(_ files: SpawnFiles!) -> Int32 { interface() }
  @discardableResult
  public func apple_spawn_file_actions_adddup2(
    _ files: SpawnFiles!, _ file: Int32, _ number: Int32
  ) -> Int32 { interface() }
  @discardableResult
  public func apple_spawn_file_actions_addopen(
    _ files: SpawnFiles!, _ number: Int32, _ path: UnsafePointer<CChar>!, _ flags: Int32,
    _ mode: UInt16
  ) -> Int32 { interface() }
  @discardableResult
  public func apple_spawnattr_init(_ attributes: SpawnAttributes!) -> Int32 { interface() }
  @discardableResult
  public func apple_spawnattr_destroy(_ attributes: SpawnAttributes!) -> Int32 { interface() }
  @discardableResult
  public func apple_spawnattr_setsigmask(
    _ attributes: SpawnAttributes!, _ mask: UnsafePointer<sigset_t>!
  ) -> Int32 { interface() }
  @discardableResult
  public func apple_spawnattr_setpgroup(_ attributes: SpawnAttributes!, _ group: pid_t) -> Int32 {
    interface()
  }
  @discardableResult
  public func apple_spawnattr_setflags(_ attributes: SpawnAttributes!, _ flags: Int16) -> Int32 {
    interface()
  }
  public func apple_spawn(
    _ process: UnsafeMutablePointer<pid_t>!, _ path: UnsafePointer<CChar>!,
    _ files: UnsafePointer<apple_spawn_file_actions_t?>!,
    _ attributes: UnsafePointer<apple_spawnattr_t?>!,
    _ arguments: UnsafePointer<UnsafeMutablePointer<CChar>?>!,
    _ environment: UnsafePointer<UnsafeMutablePointer<CChar>?>!
  ) -> Int32 { interface() }
#endif
