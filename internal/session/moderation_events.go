package session

import "showfloor/internal/timestamp"

// promotedData is the data of session.participant.promoted.
type promotedData struct {
	ParticipantData
	PreviousRole string `json:"previousRole"`
}

// raisedData is the data of session.handraise.raised.
type raisedData struct {
	SessionID   string         `json:"sessionId"`
	UserID      string         `json:"userId"`
	DisplayName *string        `json:"displayName"`
	Role        string         `json:"role"`
	RaisedAt    timestamp.Time `json:"raisedAt"`
}

// loweredData is the data of session.handraise.lowered.
type loweredData struct {
	SessionID   string  `json:"sessionId"`
	UserID      string  `json:"userId"`
	DisplayName *string `json:"displayName"`
	Role        string  `json:"role"`
	By          *string `json:"by"`
}

// mutedAllData is the data of session.muted-all.
type mutedAllData struct {
	SessionID  string  `json:"sessionId"`
	ExceptHost bool    `json:"exceptHost"`
	Muted      int     `json:"muted"`
	By         *string `json:"by"`
}

// breakoutData is one room in the data of session.breakouts.created.
type breakoutData struct {
	ID              string   `json:"id"`
	Name            string   `json:"name"`
	ParentSessionID string   `json:"parentSessionId"`
	UserIDs         []string `json:"userIds"`
}

// breakoutsCreatedData is the data of session.breakouts.created.
type breakoutsCreatedData struct {
	SessionID string         `json:"sessionId"`
	Breakouts []breakoutData `json:"breakouts"`
	By        *string        `json:"by"`
}
