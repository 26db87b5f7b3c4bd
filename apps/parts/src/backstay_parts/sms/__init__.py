"""Text messages over HTTP in Twilio's form, and a private server that speaks it."""

from backstay_parts.sms.inbox import ReceivedSms, SmsServer
from backstay_parts.sms.sender import SmsRefused, SmsSender, SmsUnreachable

__all__ = ["ReceivedSms", "SmsRefused", "SmsSender", "SmsServer", "SmsUnreachable"]
