using System;
using System.Collections.Generic;
using System.Threading.Tasks;
using UnityEngine;

namespace OpenAppleModels.Samples.Tavern
{
    /// <summary>
    /// The Sleeping Stag, late evening. Add this to an empty object in an empty scene and press Play: it builds the room, brings Mira
    /// in, and lets you talk to her.
    /// </summary>
    [AddComponentMenu("Open Apple Models/Samples/Tavern")]
    public sealed class Tavern : MonoBehaviour
    {
        private TavernSet room;
        private OamBridgeRunner runner;
        private Innkeeper mira;
        private string[] options = new string[0];
        private string input = "What is there to eat?";
        private bool isBusy = true;

        /// <summary>What Mira says, as far as she has said it.</summary>
        public string Line { get; private set; } = "";

        /// <summary>What she decided at closing time.</summary>
        public string Decision { get; private set; } = "";

        /// <summary>The player's gold.</summary>
        public int Gold => mira == null ? 0 : mira.PlayerGold;

        /// <summary>Whether Mira has to answer before she can be talked to.</summary>
        public bool IsBusy => isBusy;

        /// <summary>Says something to Mira.</summary>
        public void Say(string playerLine) => Run(async () =>
        {
            Line = "";
            options = await mira.HearAsync(playerLine, line => Line = line, room.ShowEmotion);
        });

        /// <summary>Asks Mira for a bed.</summary>
        public void Close() => Run(async () => Decision = await mira.DecideAsync());

        private void Start()
        {
            room = new TavernSet();
            runner = OamBridgeRunner.Create();
            Run(async () =>
            {
                Dictionary<string, object> welcome = await runner.Bridge.InitializeAsync();
                bool hasModel = true.Equals(((Dictionary<string, object>)welcome["model"])["available"]);
                mira = new Innkeeper(runner.Bridge, isScripted: !hasModel)
                {
                    Serve = (dish, reply) => StartCoroutine(room.Serve(() => reply.IsCancelled, () => reply.Ok(dish + " is served"))),
                };
                await mira.ComeInAsync();
            });
        }

        private void OnDestroy()
        {
            if (runner != null)
            {
                Destroy(runner.gameObject);
            }
        }

        /// <summary>Does one thing at a time, and shows what goes wrong.</summary>
        private async void Run(Func<Task> work)
        {
            isBusy = true;
            try
            {
                await work();
            }
            catch (OamException problem) when (problem.Name == "shut_down")
            {
                // The game has ended.
            }
            catch (OamException problem)
            {
                Line = problem.Message;
            }
            finally
            {
                isBusy = false;
            }
        }

        private void OnGUI()
        {
            GUILayout.BeginArea(new Rect(20f, 20f, 480f, 400f));
            GUILayout.Label($"Gold: {Gold}");
            GUILayout.Label(Line);
            GUILayout.Label(Decision);
            GUI.enabled = !isBusy;
            foreach (string option in options)
            {
                if (GUILayout.Button(option))
                {
                    Say(option);
                    break;
                }
            }
            input = GUILayout.TextField(input);
            if (GUILayout.Button("Say"))
            {
                Say(input);
            }
            if (GUILayout.Button("It is late. A bed for the night?"))
            {
                Close();
            }
            GUILayout.EndArea();
        }
    }
}
