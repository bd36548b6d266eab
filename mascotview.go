package pasar

import "time"

// A MascotView is `GET /api/mascot`: how the market is, in one word and in a sentence.
type MascotView struct {
	Schema   int        `json:"schema"`
	Mood     string     `json:"mood"`     // idle, busy, sweat, …: what matters most just now
	Headline string     `json:"headline"` // the market in a sentence
	Why      string     `json:"why"`      // why the mood is that, in a clause
	Until    *time.Time `json:"until"`    // when the mood will change by time alone; null: it won't
	Image    string     `json:"image"`    // the path of a picture of it
}
