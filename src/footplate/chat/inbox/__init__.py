"""What people do in chats, kept in the store before it is confirmed, handed out once and in order."""
