import Properations

/// A task of a workflow whose command runs on a cluster.
///
/// ```swift
/// let align = SlurmTask("align", on: cluster, SlurmJob("align", sample.path))
/// let count = SlurmTask("count", on: cluster) { run in
///   SlurmJob("count", try run.result(of: align).outputFile.path)
/// }
/// try workflow.add(align)
/// try workflow.add(count, prerequisites: align)
/// ```
///
/// The task executes from the moment when the job may be submitted until Slurm reports its
/// end. It holds no thread meanwhile. Cancelling or resetting the task cancels the job.
///
/// A job whose node has failed is submitted again, up to three times in all; set
/// `retryPolicy` for another rule. The result is recorded in the workflow's journal under the
/// task's name. So a program that was killed goes on where it was: tasks whose results are in
/// the journal stay finished, and the others find their jobs on the cluster by name.
public final class SlurmTask: WorkflowTask<SlurmResult>, @unchecked Sendable {
  // Sendable: nothing changes after init.
  private let cluster: SlurmCluster
  private let identifier: String
  private let makeJob: @Sendable (TaskWork<SlurmResult>) throws -> SlurmJob

  /// Makes a task whose command depends on the results of prerequisites.
  ///
  /// - Parameters:
  ///   - name: The name of the task. It identifies the job in its run, so it must be the same
  ///     in every start of the program, and different for each task.
  ///   - cluster: The cluster.
  ///   - job: Makes the command, in the task's context.
  public init(
    _ name: String, on cluster: SlurmCluster,
    _ job: @escaping @Sendable (TaskWork<SlurmResult>) throws -> SlurmJob
  ) {
    self.cluster = cluster
    identifier = name
    makeJob = job
    super.init(name: name)
    retryPolicy = RetryPolicy(
      attempts: 3, retryIf: { ($0 as? SlurmError)?.isWorthAnotherTry == true })
    journaled(as: name)
  }

  /// Makes a task.
  ///
  /// - Parameters:
  ///   - name: The name of the task; see ``init(_:on:_:)-(_,_,(TaskWork<SlurmResult>)->SlurmJob)``.
  ///   - cluster: The cluster.
  ///   - job: The command.
  public convenience init(_ name: String, on cluster: SlurmCluster, _ job: SlurmJob) {
    self.init(name, on: cluster) { _ in job }
  }

  public override func main(_ run: TaskWork<SlurmResult>) {
    let future: Future<SlurmResult>
    do {
      future = cluster.run(try makeJob(run), as: identifier)
    } catch {
      run.fail(with: error)
      return
    }
    run.onStop { future.cancel() }
    future.onCompletion(on: .inline) { run.end(with: $0) }
  }
}
