//! The game's state as one JSON object that the game and its characters share.
