package pipeline

import (
	"strings"

	"github.com/labstack/echo/v4"

	"showfloor/handlers/request"
	"showfloor/internal/base/problem"
)

// Impersonation says whether an admin who impersonates a tenant's user may call an operation that changes something.
type Impersonation bool

// The decisions.
const (
	Refused Impersonation = false
	Allowed Impersonation = true
)

// endImpersonation is the only changing operation for a read-only token, and the only operation for a token that was made before
// its tenant was suspended: an admin must be able to revoke each impersonation.
const endImpersonation = "endImpersonation"

// Impersonations has the decision for each operation that takes a tenant's token and changes something, by operationId. Operations that
// only read are not listed: they are allowed. A test walks the document, so a new operation needs a decision here.
//
// Refused are operations that give access for longer than the impersonation (passwords, second factors, the team, credentials of any
// kind, addresses to which events, pushes or streams are sent), and those that move
// money or decide what the tenant pays.
func Impersonations() map[string]Impersonation {
	return map[string]Impersonation{
		"changePassword": Refused, "beginTotp": Refused, "confirmTotp": Refused, "disableTotp": Refused, "renewRecoveryCodes": Refused,
		"endSignIn": Refused, "endOtherSignIns": Refused, endImpersonation: Allowed,
		"inviteTeamMember": Refused, "removeTeamMember": Refused, "changeTeamMemberRole": Refused, "disableTeamMemberTotp": Refused,
		"createApiKey": Refused, "revokeApiKey": Allowed,
		"createWebhook": Refused, "rotateWebhookSecret": Refused, "updateWebhook": Refused, "deleteWebhook": Allowed, "testWebhook": Allowed,
		"recoverWebhook": Allowed, "retryWebhookDelivery": Allowed,
		"setIosPushCredentials": Refused, "setCloudPushCredentials": Refused, "testPushCredentials": Allowed,
		"registerPushDevice": Refused, "deactivatePushDevice": Allowed, "notifyUsers": Allowed,

		// Money.
		"createBillingCheckout": Refused, "createBillingPortal": Refused, "updateSubscription": Refused, "setSpendCap": Refused,
		"createOnboardingLink": Refused, "createCheckout": Refused, "refundOrder": Refused, "placeBid": Refused,
		"updateOrder": Allowed, "fulfilOrder": Allowed, "createAuction": Allowed, "cancelAuction": Allowed,
		"createDiscount": Allowed, "dropDiscount": Allowed, "upsertProduct": Allowed, "archiveProduct": Allowed, "syncCatalog": Allowed,

		// The answers of the refused ones have a stream key or a participant's token, which are valid for longer than the impersonation.
		"createStream": Refused, "rotateStreamKey": Refused, "createSfuToken": Refused, "createSessionToken": Refused,
		"inviteCall": Refused, "answerCall": Refused,
		"updateStream": Allowed, "createPlaybackUrl": Refused, "declineCall": Allowed, "endCall": Allowed,

		// Tickets and dismissed announcements are the user's own words and view.
		"createTicket": Refused, "createTicketAttachment": Refused, "addTicketMessage": Refused, "closeTicket": Refused,
		"dismissAnnouncement": Refused,

		"updateTenant":    Allowed,
		"createBreakouts": Allowed, "closeBreakouts": Allowed, "createSession": Allowed, "updateSession": Allowed, "endSession": Allowed,
		"timeoutChannelMember": Allowed, "banChannelMember": Allowed, "muteChannelMember": Allowed, "setChannelSlowmode": Allowed,
		"createChannel": Allowed, "createDirectChannel": Allowed, "joinChannel": Allowed, "leaveChannel": Allowed,
		"sendStreamMessage": Allowed, "sendChannelMessage": Allowed, "editChannelMessage": Allowed, "deleteChannelMessage": Allowed,
		"muteAllParticipants": Allowed, "muteSessionParticipant": Allowed, "setSessionSpotlight": Allowed,
		"promoteSessionParticipant": Allowed, "raiseHand": Allowed, "lowerHand": Allowed, "updateSessionParticipant": Allowed,
		"kickSessionParticipant": Allowed, "admitSessionParticipant": Allowed,
		"startRecording": Allowed, "stopRecording": Allowed, "deleteRecording": Allowed, "updateRecording": Allowed,
		"createRecordingClip": Allowed, "putRecordingTextTrack": Allowed, "deleteRecordingTextTrack": Allowed,
		"startSessionRecording": Allowed, "stopSessionRecording": Allowed,
		"startSessionBroadcast": Allowed, "stopSessionBroadcast": Allowed,
		"createRestreamTarget": Refused, "updateRestreamTarget": Refused, "deleteRestreamTarget": Allowed, "testRestreamTarget": Allowed,
		"attachRestreamTargets": Refused, "detachRestreamTarget": Allowed,
		"createTranscode": Allowed, "cancelTranscode": Allowed, "createPackage": Allowed, "cancelPackage": Allowed,
		"publishCaption":   Allowed,
		"createCaptureUrl": Refused, "replayCapture": Allowed,
		"deleteCaptureUrl": Allowed, "deleteCaptureUrlByGet": Allowed, "deleteCaptureUrlByHead": Allowed, "deleteCaptureUrlByOptions": Allowed,
		"deleteCaptureUrlByPatch": Allowed, "deleteCaptureUrlByPost": Allowed, "deleteCaptureUrlByPut": Allowed,
	}
}

// refuseImpersonated refuses changes that an admin must not make in a user's name, and all changes with a read-only token. An operation
// without a decision that isn't a GET is refused too.
func (c *contract) refuseImpersonated(next echo.HandlerFunc) echo.HandlerFunc {
	// Go names differ from operationIds only in upper and lower case.
	decisions := map[string]Impersonation{}
	for name, decision := range Impersonations() {
		decisions[strings.ToLower(name)] = decision
	}
	return func(e echo.Context) error {
		by := request.Caller(e.Request().Context()).Impersonation
		op := c.find(e)
		if by == nil || op == nil {
			return next(e)
		}
		decision, changes := decisions[strings.ToLower(op.route.Operation.OperationID)]
		changes = changes || op.route.Method != echo.GET
		switch {
		case !changes:
			return next(e)
		case by.ReadOnly && !op.endsImpersonation:
			return problem.New(problem.Forbidden, "impersonated",
				"this tenant is SUSPENDED or CANCELLED, so an admin who acts as its user can only read")
		case decision == Refused:
			return problem.New(problem.Forbidden, "impersonated",
				"an admin who acts as a user can't do this; ask the tenant's own user to do it")
		}
		return next(e)
	}
}
