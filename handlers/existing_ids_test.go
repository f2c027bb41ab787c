package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// existingIDs creates a resource of each kind and returns, by operationId, the ids with which the owner can call each operation
// that takes ids (a/b for two).
func existingIDs(t *testing.T, s *apitest.Server, owner *apitest.Caller) map[string]string {
	t.Helper()
	hook := owner.Webhook(t, "http://127.0.0.1:1/")
	emit(t, s, owner.TenantID, "str_subject")
	deliveries, err := db.New(s.Pool).ListWebhookDeliveries(t.Context(),
		db.ListWebhookDeliveriesParams{TenantID: owner.TenantID, EndpointID: hook.ID, Statuses: []string{"pending"}, BeforeID: "del_z", MaxRows: 1})
	require.NoError(t, err)
	st, member := owner.Stream(t, nil), owner.Colleague(t, tenancy.Viewer)
	enableTotp(t, s, member, "/v1/me/security/totp")
	var key api.APIKey
	product := owner.Product(t, nil)
	owner.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "k"}).Into(t, 201, &key)

	auction, cancelled := owner.Auction(t, nil), owner.Auction(t, nil)
	owner.Seller(t)
	sale := owner.Sale(t, st.ID, product.ID)

	ch, moderated := owner.Channel(t, nil), owner.Channel(t, nil)
	message := say(t, owner, ch.ID, "ben", "Hello")
	session, ended := owner.Session(t, map[string]any{"inviteUserIds": []string{"ben", "cleo"}}), owner.Session(t, nil)
	owner.Join(t, session.ID, "ben", nil) // muting needs a participant in the room
	ben, cleo := session.ID+"/ben", session.ID+"/cleo"
	ringing, declined, answered := owner.Ring(t, nil), owner.Ring(t, nil), owner.Ring(t, nil)
	owner.Call(t, "POST", "/v1/me/calls/"+answered.SessionID+"/answer", map[string]any{"userId": "ben"}).Is(t, 201)

	taping := owner.Session(t, nil)
	var meeting api.SessionRecording
	owner.Call(t, "POST", sessionsPath+"/"+taping.ID+"/recording/start", nil).Into(t, 201, &meeting)

	made, taped, onAir := record(t, s, owner, false), record(t, s, owner, true), publish(t, s, owner)

	captureURL := owner.CaptureURL(t)
	captured := captureURL.Token + "/" + s.Send(t, captureURL, "GET", "", nil)

	owner.Call(t, "PUT", "/v1/me/recordings/"+made.ID+"/text-tracks/en", map[string]any{"name": "English", "content": "WEBVTT"}).Is(t, 200)

	var transcode api.Transcode
	owner.Call(t, "POST", "/v1/me/recordings/"+made.ID+"/transcode", nil).Into(t, 201, &transcode)

	encoded := transcodeOf(t, s, owner, "MP4", "COMPLETED")
	var pkg api.Package
	owner.Call(t, "POST", "/v1/me/transcodes/"+encoded.ID+"/package", nil).Into(t, 201, &pkg)

	target, removable := owner.RestreamTarget(t, "rtmp://live.example/app/one"), owner.RestreamTarget(t, "rtmp://live.example/app/two")
	untested := owner.RestreamTarget(t, "rtmp://127.0.0.1:1/app/three")
	owner.Call(t, "POST", restreamPath+st.ID, attach(target)).Is(t, 201)

	airing := owner.Session(t, nil)
	owner.Call(t, "POST", sessionsPath+"/"+airing.ID+"/broadcast", map[string]any{"streamId": owner.Stream(t, nil).ID}).Is(t, 201)

	phone := owner.Device(t, "ada", "ios", "phone-1", nil)

	var asked, closing api.SupportTicketDetail
	file := owner.TicketAttachment(t, "obs.log", []byte("refused"))
	owner.Call(t, "POST", "/v1/me/tickets", map[string]any{"subject": "s", "body": "b", "attachmentIds": []string{file.ID}}).Into(t, 201, &asked)
	owner.Call(t, "POST", "/v1/me/tickets", map[string]any{"subject": "s", "body": "b"}).Into(t, 201, &closing)

	// Only tenants on ENTERPRISE see it, so other tenants get 404.
	var news api.Announcement
	admin := s.Admin(t, platform.SuperAdmin)
	admin.Call(t, "POST", "/v1/admin/announcements", map[string]any{"title": "t", "body": "b", "audience": []string{"ENTERPRISE"}}).Into(t, 201, &news)
	admin.Call(t, "POST", "/v1/admin/announcements/"+news.ID+"/publish", nil).Is(t, 201)

	// An operation with an id that is missing here fails TestAnotherTenantsIDsDontExist. Discount
	// codes are not ids: another tenant's code is answered like an unknown one.
	return map[string]string{
		"disableTeamMemberTotp": member.UserID,
		"listCaptures":          captureURL.Token, "replayCapture": captured,
		"deleteCaptureUrl": captureURL.Token, "deleteCaptureUrlByGet": captureURL.Token, "deleteCaptureUrlByPost": captureURL.Token,
		"deleteCaptureUrlByPut": captureURL.Token, "deleteCaptureUrlByPatch": captureURL.Token, "deleteCaptureUrlByOptions": captureURL.Token,
		"deleteCaptureUrlByHead": captureURL.Token,
		"getStream":              st.ID, "updateStream": st.ID, "rotateStreamKey": st.ID, "createPlaybackUrl": st.ID, "dropDiscount": st.ID, "createSfuToken": st.ID,
		"getSession": session.ID, "updateSession": session.ID, "createSessionToken": session.ID, "getSessionSummary": session.ID,
		"publishCaption": session.ID, "listTranscriptLines": session.ID, "getTranscriptVtt": session.ID,
		"endSession":            ended.ID,
		"startSessionRecording": session.ID, "stopSessionRecording": taping.ID + "/" + meeting.ID, "listSessionRecordings": taping.ID,
		"startSessionBroadcast": session.ID, "stopSessionBroadcast": airing.ID,
		"listSessionParticipants": session.ID, "updateSessionParticipant": ben, "kickSessionParticipant": cleo, "admitSessionParticipant": ben,
		"muteAllParticipants": session.ID, "muteSessionParticipant": session.ID, "setSessionSpotlight": session.ID,
		"promoteSessionParticipant": session.ID, "raiseHand": session.ID, "lowerHand": session.ID, "createBreakouts": session.ID, "closeBreakouts": session.ID,
		"answerCall": ringing.SessionID, "declineCall": declined.SessionID, "endCall": answered.SessionID,
		"getOrder": sale.ID, "updateOrder": sale.ID, "fulfilOrder": sale.ID, "refundOrder": sale.ID,
		"changeTeamMemberRole": member.UserID, "removeTeamMember": member.UserID,
		"revokeApiKey":  key.ID,
		"deleteWebhook": hook.ID, "listWebhookDeliveries": hook.ID, "getWebhook": hook.ID, "updateWebhook": hook.ID,
		"rotateWebhookSecret": hook.ID, "testWebhook": hook.ID, "recoverWebhook": hook.ID,
		"getProduct": product.ID, "archiveProduct": product.ID,
		"getAuction": auction.ID, "placeBid": auction.ID, "cancelAuction": cancelled.ID,
		"sendStreamMessage": st.ID, "sendChannelMessage": ch.ID, "listChannelMessages": ch.ID, "getChannel": ch.ID, "listChannelMembers": ch.ID,
		"editChannelMessage": ch.ID + "/" + message.ID, "deleteChannelMessage": ch.ID + "/" + message.ID,
		"joinChannel": ch.ID, "leaveChannel": ch.ID, "listChannelModeration": ch.ID, "listChannelRestrictions": ch.ID,
		"timeoutChannelMember": moderated.ID, "banChannelMember": moderated.ID, "muteChannelMember": moderated.ID, "setChannelSlowmode": moderated.ID,
		"getRecording": made.ID, "updateRecording": made.ID, "getRecordingPlaybackUrl": made.ID, "deleteRecording": made.ID, "createRecordingClip": made.ID,
		"listRecordingTranscodes": made.ID, "listRecordingPackages": made.ID,
		"createTranscode": made.ID, "getTranscode": transcode.ID, "cancelTranscode": transcode.ID,
		"createPackage": encoded.ID, "getPackage": pkg.ID, "cancelPackage": pkg.ID,
		"listRecordingTextTracks": made.ID, "putRecordingTextTrack": made.ID + "/en", "deleteRecordingTextTrack": made.ID + "/en",
		"getStreamFunnel": st.ID, "listStreamRecordings": made.StreamID.MustGet(), "startRecording": onAir.ID, "stopRecording": taped.StreamID.MustGet() + "/" + taped.ID,
		"deleteRestreamTarget": removable.ID, "updateRestreamTarget": target.ID, "testRestreamTarget": untested.ID, "listRestreamRoutes": st.ID, "attachRestreamTargets": st.ID, "detachRestreamTarget": st.ID + "/" + target.ID,
		"deactivatePushDevice": phone.Token,
		"getTicket":            asked.Ticket.ID, "addTicketMessage": asked.Ticket.ID, "closeTicket": closing.Ticket.ID,
		"getTicketAttachment":  asked.Ticket.ID + "/" + file.ID,
		"dismissAnnouncement":  news.ID,
		"retryWebhookDelivery": deliveries[0].WebhookDelivery.ID,
	}
}
