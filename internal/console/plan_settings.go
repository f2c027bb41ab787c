package console

import (
	"cmp"
	"slices"

	"showfloor/gen/db"
)

// planSettings are the fields of a plan that can be changed, as the audit log shows them.
type planSettings struct {
	Name             string          `json:"name"`
	Description      string          `json:"description"`
	PriceCents       int64           `json:"priceCents"`
	YearlyPriceCents *int64          `json:"yearlyPriceCents"`
	TrialDays        int32           `json:"trialDays"`
	Active           bool            `json:"active"`
	Limits           planLimits      `json:"limits"`
	Allowances       []planAllowance `json:"allowances"`
}

type planLimits struct {
	MaxUsers               *int32 `json:"maxUsers"`
	MaxAPIKeys             *int32 `json:"maxApiKeys"`
	MaxLiveStreams         *int32 `json:"maxLiveStreams"`
	MaxViewers             *int32 `json:"maxViewers"`
	MaxSessionCapacity     *int32 `json:"maxSessionCapacity"`
	MaxWebhookEndpoints    *int32 `json:"maxWebhookEndpoints"`
	MaxRestreamTargets     *int32 `json:"maxRestreamTargets"`
	RecordingRetentionDays *int32 `json:"recordingRetentionDays"`
	MaxCaptureBytes        *int64 `json:"maxCaptureBytes"`
	MaxProcessorCalls      *int32 `json:"maxProcessorCalls"`
	MaxWrittenBytes        *int64 `json:"maxWrittenBytes"`
}

type planAllowance struct {
	Meter             string `json:"meter"`
	Included          int64  `json:"included"`
	Overage           string `json:"overage"`
	OveragePriceCents *int64 `json:"overagePriceCents,omitempty"`
	OverageUnits      *int64 `json:"overageUnits,omitempty"`
}

func planSettingsOf(p db.Plan, allowances []db.PlanAllowance) planSettings {
	of := planSettings{
		Name: p.Name, Description: p.Description, PriceCents: p.PriceCents, YearlyPriceCents: p.YearlyPriceCents, TrialDays: p.TrialDays,
		Active: p.Active, Allowances: []planAllowance{},
		Limits: planLimits{
			MaxUsers: p.MaxUsers, MaxAPIKeys: p.MaxAPIKeys, MaxLiveStreams: p.MaxLiveStreams, MaxViewers: p.MaxViewers,
			MaxSessionCapacity: p.MaxSessionCapacity, MaxWebhookEndpoints: p.MaxWebhookEndpoints, MaxRestreamTargets: p.MaxRestreamTargets,
			RecordingRetentionDays: p.RecordingRetentionDays, MaxCaptureBytes: p.MaxCaptureBytes, MaxProcessorCalls: p.MaxProcessorCalls,
			MaxWrittenBytes: p.MaxWrittenBytes,
		},
	}
	for _, a := range allowances {
		of.Allowances = append(of.Allowances, planAllowance{a.Meter, a.Included, a.Overage, a.OveragePriceCents, a.OverageUnits})
	}
	slices.SortFunc(of.Allowances, func(a, b planAllowance) int { return cmp.Compare(a.Meter, b.Meter) })
	return of
}
