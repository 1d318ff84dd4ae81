/// Where the page draws the tasks of a workflow; lengths in pixels, from the top left.
public struct GraphLayout: Codable, Sendable, Equatable {
  /// The place of a task, or the area of a workflow inside a task.
  public struct Box: Codable, Sendable, Equatable {
    /// The identifier of the task.
    public let id: String
    /// The left edge.
    public let x: Double
    /// The upper edge.
    public let y: Double
    /// The width.
    public let width: Double
    /// The height.
    public let height: Double
  }

  /// The line from a task to a dependent.
  public struct Line: Codable, Sendable, Equatable {
    /// The identifier of the task.
    public let from: String
    /// The identifier of the dependent.
    public let to: String
    /// The start, and then three points for each Bézier curve; empty for a straight line.
    public let points: [[Double]]
  }

  /// The number of the graph that was laid out; see ``WorkflowPicture/graph``.
  public let graph: Int
  /// The width of the drawing.
  public let width: Double
  /// The height of the drawing.
  public let height: Double
  /// The tasks.
  public let nodes: [Box]
  /// The open workflows inside tasks.
  public let clusters: [Box]
  /// The dependencies.
  public let lines: [Line]
  /// Why there is no drawing, but only a list of tasks: a sentence for people.
  public let problem: String?
}
