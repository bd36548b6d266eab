package pasar

import "time"

// A ChangesView is one answer of the request `changes`: first the jobs that match and the status as they are, then each
// time what has changed since the view before. Nothing in it is left to guess: whoever applies the views in order has
// the list as `list` would give it, but for outlooks that are told a little later, and what is less than a little off:
// docs/protocol.md says how much.
type ChangesView struct {
	Schema   int           `json:"schema"`
	Seq      int64         `json:"seq"` // of the last fact in what it shows
	At       time.Time     `json:"at"`
	Whole    bool          `json:"whole"`    // jobs are all that match, in their order; else those that are new or have changed since the view before
	Status   *StatusView   `json:"status"`   // null: as before
	Jobs     []JobView     `json:"jobs"`     // never null
	Outlooks []OutlookView `json:"outlooks"` // of jobs of which nothing else has changed; never null
	Gone     []JobID       `json:"gone"`     // not among them any more; never null
	Moved    []MovedView   `json:"moved"`    // to be applied in order, after what is gone has been taken out; new jobs are in it as well; never null
	More     int           `json:"more"`     // unfinished jobs that match beyond the limit
}

// An OutlookView is what is expected of a job that hasn't ended, and why it waits: the keys of the same names of a job.
type OutlookView struct {
	ID        JobID         `json:"id"`
	Reason    *string       `json:"reason"`
	Summary   *string       `json:"summary"`
	Remaining *Duration     `json:"remaining"`
	Projected ProjectedView `json:"projected"`
	Waiting   *WaitingView  `json:"waiting"`
}

// A MovedView is a job's new place in the list.
type MovedView struct {
	ID    JobID `json:"id"`
	After JobID `json:"after"` // the job that it comes behind; 0: it is the first
}

// Outlook is the part of a view that an OutlookView has.
func (v *JobView) Outlook() OutlookView {
	return OutlookView{v.ID, v.Reason, v.Summary, v.Remaining, v.Projected, v.Waiting}
}

// MarshalJSON gives the same bytes as the struct tags would, as JobView's does.
func (v OutlookView) MarshalJSON() ([]byte, error) { return v.AppendJSON(make([]byte, 0, 512)) }

// AppendJSON appends the view as one JSON object.
func (v *OutlookView) AppendJSON(dst []byte) ([]byte, error) {
	o := object{b: append(dst, '{'), first: true}
	o.integer("id", int64(v.ID))
	o.textOrNull("reason", v.Reason)
	o.textOrNull("summary", v.Summary)
	o.seconds("remaining", v.Remaining)
	o.projected(&v.Projected)
	o.waiting(v.Waiting)
	return append(o.b, '}'), o.err
}
