/// A workflow at one moment, or what has changed in it since an earlier one.
///
/// The page gets a whole picture first and changes afterwards. Each has the version up to
/// which it is complete, so a page that was away asks for everything after its last version.
public struct WorkflowPicture: Codable, Sendable, Equatable {
  /// The number of this format.
  public static let currentFormat = 1

  /// The format in which the picture is written.
  public var format = Self.currentFormat
  /// The identifier of the workflow in addresses.
  public let id: String
  /// A number that differs for each time that the workflow is shown: versions with another
  /// epoch cannot be compared.
  public let epoch: String
  /// The version up to which the picture is complete.
  public let version: Int
  /// Whether all tasks are here, and not only those that have changed.
  public let isWhole: Bool
  /// The name of the workflow, which may contain any characters.
  public let name: String
  /// The number of times that the tasks or their dependencies have changed, which changes
  /// the layout.
  public let graph: Int
  /// The time of the picture, in seconds since 1970.
  public let now: Double
  /// The run.
  public let run: RunEntry
  /// The tasks, in the order in which they were added; inner tasks follow their parent.
  public let tasks: [TaskEntry]
}

/// A workflow in the list of all workflows.
public struct WorkflowSummary: Codable, Sendable, Equatable {
  /// The identifier in addresses.
  public let id: String
  /// The name.
  public let name: String
  /// How many tasks there are.
  public let taskCount: Int
}
