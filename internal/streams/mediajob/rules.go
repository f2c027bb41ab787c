package mediajob

import "time"

const (
	// maxUnfinished is the number of a tenant's jobs of a kind that may be QUEUED or RUNNING.
	maxUnfinished = 100
	// maxAttempts is how often a job is tried before it is FAILED. Attempts that end because of the storage, or because the
	// server stops, don't count.
	maxAttempts = 5
	// storageTime is how long after its start a job is tried while the storage fails, and storagePause the pause in between.
	storageTime  = 6 * time.Hour
	storagePause = time.Minute
	// heartbeatTimeout is the time after an attempt's last heartbeat from which its process counts as dead.
	heartbeatTimeout = 30 * time.Second
	// retryPause is the pause after the first attempt that ended with an error; it is doubled with each further one.
	retryPause = 15 * time.Second
	// forgottenAfter is how long a job may be due. Then its run may be lost, and Sweep adds another one, but only one of each kind in
	// forgottenPeriod: perhaps the job only waits, or no server takes runs.
	forgottenAfter  = 5 * time.Minute
	forgottenPeriod = time.Hour
	// lateFiles is the time after the end of a job at which its files are deleted once more: a worker without a connection to the
	// database may have stored another one.
	lateFiles = 24 * time.Hour
)

// pauseAfter is the pause after an attempt that ended with an error.
func pauseAfter(attempt int) time.Duration { return retryPause << max(attempt-1, 0) }

// Reasons of FAILED jobs, for the tenant.
const (
	// RecordingDeleted is that of jobs whose recording was deleted.
	RecordingDeleted = "The recording was deleted."
	// serverStopped is that of jobs whose server was killed in each attempt.
	serverStopped = "The server stopped while it made the files."
	tooLong       = "The files take too long to make: more than a day."
	programFailed = "The program that makes the files failed."
	storageFailed = "The storage failed for 6 hours."
	// programSilent is that of jobs whose outside program doesn't report.
	programSilent = "The program that makes the files has not reported for 24 hours."
)
